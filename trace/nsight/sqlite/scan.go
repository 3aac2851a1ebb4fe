package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
)

// Damage counts what a scan had to leave out.
type Damage struct {
	Pages int // pages that cannot be right or lie behind the end of the file, with all below them
	Rows  int // rows that contradict themselves
}

// Limits. A tree of 20 levels holds more rows than a disk; no column of Nsight's
// that is read here is longer than a name.
const (
	deepest    = 20
	mostRecord = 16 << 20
)

// Scan calls row for every row of a table in order of their numbers, with the
// values of the wanted columns; -1 stands for a column that the table lacks, which
// reads as NULL. It stops at the first error of row, of ctx or of the disk.
func (f *File) Scan(ctx context.Context, t *Table, columns []int, row func(*Row) error) (Damage, error) {
	s := &scan{f: f, pages: &f.window, ctx: ctx, t: t, call: row, left: int64(f.pages)}
	s.ask(columns)
	err := s.tree(t.root, 0)
	return s.damage, err
}

// Lookup finds the row with a number, without a walk over the table. It reports
// false where there is none, or where damage lies in the way.
func (f *File) Lookup(t *Table, id int64, columns []int, row func(*Row)) (bool, error) {
	found := false
	s := &scan{f: f, pages: &f.single, ctx: context.Background(), t: t, left: deepest}
	s.ask(columns)
	s.call = func(r *Row) error { found = true; row(r); return nil }
	page := t.root
	for range deepest {
		b, err := s.pages.read(page)
		if errors.Is(err, errPage) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		n, ok := nodeOf(b, page, f.usable)
		if !ok {
			return false, nil
		}
		if n.leaf {
			err := s.only(n, id)
			return found, err
		}
		page = n.child(n.search(id))
	}
	return false, nil
}

type scan struct {
	f      *File
	pages  *window
	ctx    context.Context //nolint:containedctx // lives as long as one call of Scan
	t      *Table
	call   func(*Row) error
	want   []int32
	row    Row
	damage Damage
	left   int64 // pages that may still be read: no page belongs to a tree twice
	copies [deepest][]byte
}

// ask notes which columns are wanted, and where in the row they go.
func (s *scan) ask(columns []int) {
	s.row.values = make([]value, len(columns))
	last := -1
	for _, c := range columns {
		last = max(last, c)
	}
	s.want = make([]int32, last+1)
	for i := range s.want {
		s.want[i] = -1
	}
	for i, c := range columns {
		if c >= 0 {
			s.want[c] = int32(i)
		}
	}
}

// tree walks over the tree below a page.
func (s *scan) tree(page uint32, depth int) error {
	if depth >= deepest || s.left <= 0 {
		s.damage.Pages++
		return nil
	}
	s.left--
	b, err := s.pages.read(page)
	if errors.Is(err, errPage) {
		s.damage.Pages++
		return nil
	}
	if err != nil {
		return err
	}
	n, ok := nodeOf(b, page, s.f.usable)
	if !ok {
		s.damage.Pages++
		return nil
	}
	if n.leaf {
		return s.leaf(n)
	}
	n = s.kept(n, depth) // the window moves on below
	for i := 0; i <= n.cells; i++ {
		if err := s.tree(n.child(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// kept is a node that outlives the reading of other pages.
func (s *scan) kept(n node, depth int) node {
	n.page = append(s.copies[depth][:0], n.page...)
	s.copies[depth] = n.page
	return n
}

func (s *scan) leaf(n node) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	overflows := false
	for i := range n.cells {
		cell := n.cell(i)
		length, a := varint(cell)
		if a == 0 {
			s.damage.Rows++
			continue
		}
		id, b := varint(cell[a:])
		if b == 0 {
			s.damage.Rows++
			continue
		}
		payload := cell[a+b:]
		if length > uint64(s.f.usable-35) || length > uint64(len(payload)) {
			if !overflows { // other pages are read in between: this one is kept
				n, overflows = s.kept(n, deepest-1), true
				payload = n.cell(i)[a+b:]
			}
			var err error
			if payload, err = s.overflow(payload, length); err != nil {
				return err
			}
		} else {
			payload = payload[:length]
		}
		if err := s.emit(int64(id), payload); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) emit(id int64, payload []byte) error {
	clear(s.row.values)
	s.row.ID = id
	if payload == nil || !s.row.record(payload, s.want) {
		s.damage.Rows++
		return nil
	}
	if c := s.t.rowid; c >= 0 && c < len(s.want) && s.want[c] >= 0 {
		s.row.values[s.want[c]] = value{kind: integer, n: id}
	}
	return s.call(&s.row)
}

// overflow puts together a payload that did not fit into its page; nil where the
// chain is broken.
func (s *scan) overflow(local []byte, length uint64) ([]byte, error) {
	if length > mostRecord {
		return nil, nil
	}
	u := uint64(s.f.usable)
	least := (u-12)*32/255 - 23
	keep := least + (length-least)%(u-4)
	if keep > u-35 {
		keep = least
	}
	if keep+4 > uint64(len(local)) {
		return nil, nil
	}
	out := append(s.row.spare[:0], local[:keep]...)
	next := binary.BigEndian.Uint32(local[keep:])
	for uint64(len(out)) < length {
		b, err := s.pages.read(next)
		if errors.Is(err, errPage) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		next = binary.BigEndian.Uint32(b)
		out = append(out, b[4:min(u, 4+length-uint64(len(out)))]...)
	}
	s.row.spare = out
	return out, nil
}

// only reads the row with a number, if the leaf has it.
func (s *scan) only(n node, id int64) error {
	i := n.search(id)
	if i >= n.cells {
		return nil
	}
	if at, ok := n.key(i); !ok || at != id {
		return nil
	}
	n.from, n.cells = n.from+2*i, 1
	return s.leaf(n)
}

// node is one page of a table's tree.
type node struct {
	page   []byte
	usable int
	leaf   bool
	cells  int
	from   int    // where the pointers to cells begin, two bytes each
	right  uint32 // an inner page's last child
}

// nodeOf reads the header of page n.
func nodeOf(b []byte, n uint32, usable int) (node, bool) {
	head := 0
	if n == 1 {
		head = headerSize
	}
	d := node{page: b, usable: usable, leaf: b[head] == 0x0d, cells: int(binary.BigEndian.Uint16(b[head+3:])), from: head + 8}
	switch b[head] {
	case 0x0d:
	case 0x05:
		d.right = binary.BigEndian.Uint32(b[head+8:])
		d.from = head + 12
	default:
		return d, false
	}
	return d, d.from+2*d.cells <= usable
}

// at is where a cell begins.
func (n *node) at(i int) int { return int(binary.BigEndian.Uint16(n.page[n.from+2*i:])) }

// cell is what lies from a cell's beginning to the page's end; nothing where its
// pointer is out of bounds.
func (n *node) cell(i int) []byte {
	at := n.at(i)
	if at >= n.usable {
		return nil
	}
	return n.page[at:n.usable]
}

// child is the page below a cell of an inner page, or below all of them; 0, which
// is no page, where the cell is damaged.
func (n *node) child(i int) uint32 {
	if i >= n.cells {
		return n.right
	}
	at := n.at(i)
	if at+4 > n.usable {
		return 0
	}
	return binary.BigEndian.Uint32(n.page[at:])
}

// key is the number of a row, or the largest below a child.
func (n *node) key(i int) (int64, bool) {
	c := n.cell(i)
	if n.leaf {
		_, used := varint(c)
		c = c[used:]
	} else {
		c = c[min(4, len(c)):]
	}
	v, used := varint(c)
	return int64(v), used > 0
}

// search is the first cell whose key is not below id.
func (n *node) search(id int64) int {
	from, to := 0, n.cells
	for from < to {
		middle := (from + to) / 2
		if k, _ := n.key(middle); k < id {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}
