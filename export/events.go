package export

import (
	"bufio"
	"strconv"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/recording"
)

// events writes JSON events one after the other. After an error it writes nothing more.
type events struct {
	w      *bufio.Writer
	t      *recording.Timeline
	err    error
	line   []byte
	any    bool // at least one event was written
	args   bool // the event has an argument
	tracks map[track]*openRows
	next   int // number of the next track
}

// track is a row of the source: a thread of a process, or a stream of a device.
type track struct {
	pid int
	id  int64
}

// openRows holds the rows that a track is drawn in, one per depth of partial overlap, with the
// ends of the slices open in each.
type openRows struct {
	tids []int
	ends [][]int64
}

// mostRows limits the rows of a track; real traces do not overlap so often.
const mostRows = 64

// findRow returns a row of a track in which a slice nests with the open slices, and makes a new
// row if none fits.
func (e *events) findRow(pid int, id int64, from, to int64, name func() string) int {
	o := e.tracks[track{pid, id}]
	if o == nil {
		o = &openRows{}
		e.tracks[track{pid, id}] = o
	}
	for row := range o.ends {
		ends := o.ends[row]
		for len(ends) > 0 && ends[len(ends)-1] <= from {
			ends = ends[:len(ends)-1]
		}
		o.ends[row] = ends
		if len(ends) == 0 || to <= ends[len(ends)-1] {
			o.ends[row] = append(ends, to)
			return o.tids[row]
		}
	}
	row := len(o.tids)
	if row == mostRows {
		return o.tids[row-1]
	}
	e.next++
	o.tids, o.ends = append(o.tids, e.next), append(o.ends, []int64{to})
	label := name()
	if row > 0 {
		label += " (overlap " + strconv.Itoa(row) + ")"
	}
	e.nameThread(pid, e.next, label)
	return e.next
}

// begin starts a complete event. Arguments may follow; end ends it.
func (e *events) begin(pid, tid int, name, category string, from, to int64) {
	b := append(e.line[:0], e.separator()...)
	b = append(b, `{"ph":"X","pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(tid), 10)
	b = append(b, `,"ts":`...)
	b = microseconds(b, from)
	b = append(b, `,"dur":`...)
	b = microseconds(b, max(0, to-from))
	b = append(b, `,"cat":`...)
	b = quote(b, category)
	b = append(b, `,"name":`...)
	e.line, e.args = quote(b, name), false
}

// key starts an argument.
func (e *events) key(name string) {
	if e.args {
		e.line = append(e.line, ',')
	} else {
		e.line = append(e.line, `,"args":{`...)
	}
	e.args = true
	e.line = append(quote(e.line, name), ':')
}

// arg adds an argument with a text.
func (e *events) arg(name, value string) {
	e.key(name)
	e.line = quote(e.line, value)
}

// writeNumber adds an argument with a number, unless it is less than least and so unknown.
func (e *events) writeNumber(name string, value, least int64) {
	if value >= least {
		e.key(name)
		e.line = strconv.AppendInt(e.line, value, 10)
	}
}

// end writes the event begun.
func (e *events) end() {
	if e.args {
		e.line = append(e.line, '}')
	}
	e.line = append(e.line, '}')
	e.write(e.line)
}

// nameProcess names a process and sets its place in the order.
func (e *events) nameProcess(pid int, name string, order int) {
	e.meta(pid, 0, "process_name", `"name":`, string(quote(nil, name)))
	e.meta(pid, 0, "process_sort_index", `"sort_index":`, strconv.Itoa(order))
}

// nameThread names a row. Rows are ordered by number.
func (e *events) nameThread(pid, tid int, name string) {
	e.meta(pid, tid, "thread_name", `"name":`, string(quote(nil, name)))
	e.meta(pid, tid, "thread_sort_index", `"sort_index":`, strconv.Itoa(tid))
}

// meta writes a metadata event.
func (e *events) meta(pid, tid int, what, key, value string) {
	e.writeText(e.separator() + `{"ph":"M","pid":` + strconv.Itoa(pid) + `,"tid":` + strconv.Itoa(tid) + `,"name":"` +
		what + `","args":{` + key + value + `}}`)
}

// separator returns what separates the next event from the one before.
func (e *events) separator() string {
	if !e.any {
		e.any = true
		return "\n"
	}
	return ",\n"
}

func (e *events) writeText(s string) {
	if e.err == nil {
		_, e.err = e.w.WriteString(s)
	}
}

func (e *events) write(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

// microseconds appends nanoseconds as microseconds, exactly.
func microseconds(b []byte, ns int64) []byte {
	if ns < 0 {
		b = append(b, '-')
		ns = -ns
	}
	b = strconv.AppendInt(b, ns/1000, 10)
	if rest := ns % 1000; rest != 0 {
		b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return b
}

const hexDigits = "0123456789abcdef"

// mostQuoted limits a text, in bytes: it is repeated in each event, though the source may store
// it once. Names of CUTLASS kernels have a few hundred bytes.
const mostQuoted = 1024

// quote appends a JSON string. Invalid UTF-8 becomes U+FFFD, and a text longer than mostQuoted
// ends in an ellipsis.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		if i >= mostQuoted {
			b = append(b, "…"...)
			break
		}
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

func integer(v int64) string { return strconv.FormatInt(v, 10) }
