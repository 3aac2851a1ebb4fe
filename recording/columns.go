package recording

import "slices"

// The columns of a Timeline as rows, for code that fills them. Only this file lists the columns
// of each table.

// CallRow is one host call.
type CallRow struct {
	Start, End    int64
	Name, Thread  int32
	Kind          CallKind
	Shapes, Types int32
}

// Grow makes room for n more rows.
func (c *Calls) Grow(n int) {
	c.Start, c.End = slices.Grow(c.Start, n), slices.Grow(c.End, n)
	c.Name, c.Thread, c.Kind = slices.Grow(c.Name, n), slices.Grow(c.Thread, n), slices.Grow(c.Kind, n)
	c.Shapes, c.Types = slices.Grow(c.Shapes, n), slices.Grow(c.Types, n)
}

// Append adds a row.
func (c *Calls) Append(r CallRow) {
	c.Start, c.End = append(c.Start, r.Start), append(c.End, r.End)
	c.Name, c.Thread, c.Kind = append(c.Name, r.Name), append(c.Thread, r.Thread), append(c.Kind, r.Kind)
	c.Shapes, c.Types = append(c.Shapes, r.Shapes), append(c.Types, r.Types)
}

// RowAt returns row i.
func (c *Calls) RowAt(i int) CallRow {
	return CallRow{c.Start[i], c.End[i], c.Name[i], c.Thread[i], c.Kind[i], c.Shapes[i], c.Types[i]}
}

// Reorder sorts the rows by order; see the function Reorder.
func (c *Calls) Reorder(order []int32) {
	Reorder(order, c.Start, c.End)
	Reorder(order, c.Name, c.Thread, c.Shapes, c.Types)
	Reorder(order, c.Kind)
}

// WorkRow is one piece of device work.
type WorkRow struct {
	Start, End           int64
	Name, Device, Stream int32
	Kind                 WorkKind
	Call                 int32
	Bytes                int64
	Blocks, Threads      int32
	PerSM, Occupancy     float32
	Group                int32
}

// Grow makes room for n more rows.
func (w *Work) Grow(n int) {
	w.Start, w.End = slices.Grow(w.Start, n), slices.Grow(w.End, n)
	w.Name, w.Device, w.Stream = slices.Grow(w.Name, n), slices.Grow(w.Device, n), slices.Grow(w.Stream, n)
	w.Kind, w.Call, w.Bytes = slices.Grow(w.Kind, n), slices.Grow(w.Call, n), slices.Grow(w.Bytes, n)
	w.Blocks, w.Threads = slices.Grow(w.Blocks, n), slices.Grow(w.Threads, n)
	w.PerSM, w.Occupancy, w.Group = slices.Grow(w.PerSM, n), slices.Grow(w.Occupancy, n), slices.Grow(w.Group, n)
}

// Append adds a row.
func (w *Work) Append(r WorkRow) {
	w.Start, w.End = append(w.Start, r.Start), append(w.End, r.End)
	w.Name, w.Device, w.Stream = append(w.Name, r.Name), append(w.Device, r.Device), append(w.Stream, r.Stream)
	w.Kind, w.Call, w.Bytes = append(w.Kind, r.Kind), append(w.Call, r.Call), append(w.Bytes, r.Bytes)
	w.Blocks, w.Threads = append(w.Blocks, r.Blocks), append(w.Threads, r.Threads)
	w.PerSM, w.Occupancy, w.Group = append(w.PerSM, r.PerSM), append(w.Occupancy, r.Occupancy), append(w.Group, r.Group)
}

// RowAt returns row i.
func (w *Work) RowAt(i int) WorkRow {
	return WorkRow{
		w.Start[i], w.End[i], w.Name[i], w.Device[i], w.Stream[i], w.Kind[i], w.Call[i], w.Bytes[i],
		w.Blocks[i], w.Threads[i], w.PerSM[i], w.Occupancy[i], w.Group[i],
	}
}

// Reorder sorts the rows by order; see the function Reorder.
func (w *Work) Reorder(order []int32) {
	Reorder(order, w.Start, w.End, w.Bytes)
	Reorder(order, w.Name, w.Device, w.Stream, w.Call, w.Blocks, w.Threads, w.Group)
	Reorder(order, w.Kind)
	Reorder(order, w.PerSM, w.Occupancy)
}

// FrameRow is one Python call.
type FrameRow struct {
	Start, End   int64
	Name, Thread int32
}

// Grow makes room for n more rows.
func (f *Frames) Grow(n int) {
	f.Start, f.End = slices.Grow(f.Start, n), slices.Grow(f.End, n)
	f.Name, f.Thread = slices.Grow(f.Name, n), slices.Grow(f.Thread, n)
}

// Append adds a row.
func (f *Frames) Append(r FrameRow) {
	f.Start, f.End = append(f.Start, r.Start), append(f.End, r.End)
	f.Name, f.Thread = append(f.Name, r.Name), append(f.Thread, r.Thread)
}

// RowAt returns row i.
func (f *Frames) RowAt(i int) FrameRow { return FrameRow{f.Start[i], f.End[i], f.Name[i], f.Thread[i]} }

// Reorder sorts the rows by order; see the function Reorder.
func (f *Frames) Reorder(order []int32) {
	Reorder(order, f.Start, f.End)
	Reorder(order, f.Name, f.Thread)
}

// MemoryRow is one allocator event.
type MemoryRow struct {
	At             int64
	Device, Thread int32
	Bytes, Address int64
	Total          int64
}

// Grow makes room for n more rows.
func (m *Memory) Grow(n int) {
	m.At, m.Device, m.Thread = slices.Grow(m.At, n), slices.Grow(m.Device, n), slices.Grow(m.Thread, n)
	m.Bytes, m.Address, m.Total = slices.Grow(m.Bytes, n), slices.Grow(m.Address, n), slices.Grow(m.Total, n)
}

// Append adds a row.
func (m *Memory) Append(r MemoryRow) {
	m.At, m.Device, m.Thread = append(m.At, r.At), append(m.Device, r.Device), append(m.Thread, r.Thread)
	m.Bytes, m.Address, m.Total = append(m.Bytes, r.Bytes), append(m.Address, r.Address), append(m.Total, r.Total)
}

// RowAt returns row i.
func (m *Memory) RowAt(i int) MemoryRow {
	return MemoryRow{m.At[i], m.Device[i], m.Thread[i], m.Bytes[i], m.Address[i], m.Total[i]}
}

// Reorder sorts the rows by order; see the function Reorder.
func (m *Memory) Reorder(order []int32) {
	Reorder(order, m.At, m.Bytes, m.Address, m.Total)
	Reorder(order, m.Device, m.Thread)
}

// NoPlaces returns a column of n unknown indices: -1.
func NoPlaces(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

// Reorder sorts columns by order: row i becomes the former row order[i]. A nil order changes
// nothing.
func Reorder[T any](order []int32, columns ...[]T) {
	if order == nil {
		return
	}
	for _, column := range columns {
		from := slices.Clone(column)
		for at, i := range order {
			column[at] = from[i]
		}
	}
}
