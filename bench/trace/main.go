// Command trace makes a long trace of a short one: it repeats the events of a
// PyTorch profiler's file with later times and fresh ids, so that gaps, links and
// stacks stay real.
//
//	go run ./bench/trace -o /tmp/big.json.gz -size 1GB FILE
//
// Every repetition begins where the one before it ended. Moved are ts; the ids of
// correlations, operators, flows and Python frames; and the number in
// ProfilerStep#n. Names of rows and the keys besides traceEvents are written
// once.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "trace: error:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "file to write, packed where it ends in .gz")
	size := flag.String("size", "1GB", "size of the JSON, unpacked")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		return errors.New("usage: go run ./bench/trace -o OUT.json.gz -size 1GB FILE")
	}
	want, err := bytesOf(*size)
	if err != nil {
		return err
	}
	data, err := loadText(flag.Arg(0))
	if err != nil {
		return err
	}
	t, err := parse(data)
	if err != nil {
		return err
	}
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	var w io.WriteCloser = f
	if strings.HasSuffix(*out, ".gz") {
		w, _ = gzip.NewWriterLevel(f, 6) // the level of Python's and zlib's default
	}
	n, times, err := t.write(w, want)
	if err != nil {
		return err
	}
	if w != io.WriteCloser(f) {
		if err := w.Close(); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d events repeated %d times, %.1f MB of JSON\n", *out, len(t.events), times, float64(n)/1e6)
	return f.Close()
}

func bytesOf(text string) (int64, error) {
	for unit, factor := range map[string]float64{"GB": 1e9, "MB": 1e6, "kB": 1e3} {
		if number, found := strings.CutSuffix(text, unit); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			return int64(v * factor), err
		}
	}
	return strconv.ParseInt(text, 10, 64)
}

func loadText(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	in := bufio.NewReader(f)
	if magic, _ := in.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return io.ReadAll(in)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// field is one number in an event that moves.
type field struct {
	at, end int // in the event's text
	value   int64
	by      kind
}

type kind uint8

const (
	micros kind = iota // of an event
	stamps             // of something that an event mentions
	ids
	steps
)

// event is one event's text with its moving numbers.
type event struct {
	text   []byte
	fields []field
	once   bool // metadata
}

type template struct {
	head, tail []byte
	events     []event
	span       int64 // microseconds from the first event to the last one's end
	stride     int64 // above all ids
	steps      int64 // how many steps are numbered
}

// keys are the numbers that move.
var keys = []struct {
	text string
	by   kind
}{
	{`"ts":`, micros},
	{`"external ts":`, stamps},
	{`"correlation":`, ids},
	{`"correlation id":`, ids},
	{`"External id":`, ids},
	{`"external id":`, ids},
	{`"Python id":`, ids},
	{`"Python parent id":`, ids},
	{`"id":`, ids},
	{`ProfilerStep#`, steps},
}

func parse(data []byte) (*template, error) {
	at := 0
	if i := bytes.Index(data, []byte(`"traceEvents"`)); i >= 0 {
		at = i
	}
	open := bytes.IndexByte(data[at:], '[')
	if open < 0 {
		return nil, errors.New("no list of events")
	}
	at += open + 1
	t := &template{head: data[:at]}
	first, last, least, most := int64(1<<62), int64(0), int64(1<<62), int64(-1)
	for {
		for at < len(data) && (data[at] <= ' ' || data[at] == ',') {
			at++
		}
		if at >= len(data) || data[at] != '{' {
			break
		}
		end := objectEnd(data, at)
		e := parseEvent(data[at:end])
		at = end
		for _, f := range e.fields {
			switch {
			case f.by == steps:
				least, most = min(least, f.value), max(most, f.value)
			case f.by == ids:
				t.stride = max(t.stride, f.value+1)
			case f.by == micros && !e.once && bytes.Contains(e.text, []byte(`"dur"`)):
				first, last = min(first, f.value), max(last, f.value+duration(e.text))
			}
		}
		t.events = append(t.events, e)
	}
	if last <= first {
		return nil, errors.New("no events with a duration")
	}
	t.tail, t.span, t.steps = data[at:], last-first+1, max(0, most-least+1)
	return t, nil
}

func objectEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

func parseEvent(text []byte) event {
	e := event{text: text, once: bytes.Contains(text, []byte(`"ph": "M"`)) || bytes.Contains(text, []byte(`"ph":"M"`))}
	for i := range text {
		if text[i] != '"' && text[i] != 'P' {
			continue
		}
		for _, k := range keys {
			if !bytes.HasPrefix(text[i:], []byte(k.text)) {
				continue
			}
			at := i + len(k.text)
			for at < len(text) && text[at] == ' ' {
				at++
			}
			end := at
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			if v, err := strconv.ParseInt(string(text[at:end]), 10, 64); err == nil {
				e.fields = append(e.fields, field{at, end, v, k.by})
			}
			break
		}
	}
	return e
}

// duration is the whole microseconds of an event's "dur".
func duration(text []byte) int64 {
	i := bytes.Index(text, []byte(`"dur":`)) + len(`"dur":`)
	for i < len(text) && text[i] == ' ' {
		i++
	}
	end := i
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	v, _ := strconv.ParseInt(string(text[i:end]), 10, 64)
	return v + 1
}

// write repeats the events until the file has the wanted size.
func (t *template) write(to io.Writer, want int64) (n int64, times int, err error) {
	w := bufio.NewWriterSize(to, 1<<20)
	n += int64(len(t.head))
	_, _ = w.Write(t.head)
	var buf []byte
	comma := false
	for ; times == 0 || n < want; times++ {
		for _, e := range t.events {
			if e.once && times > 0 {
				continue
			}
			buf = t.appendEvent(buf[:0], e, int64(times), comma)
			comma = true
			n += int64(len(buf))
			if _, err := w.Write(buf); err != nil {
				return n, times, err
			}
		}
	}
	_, _ = w.Write(t.tail)
	return n + int64(len(t.tail)), times, w.Flush()
}

func (t *template) appendEvent(buf []byte, e event, k int64, comma bool) []byte {
	if comma {
		buf = append(buf, ",\n  "...)
	}
	from := 0
	for _, f := range e.fields {
		by := [...]int64{micros: t.span, stamps: t.span, ids: t.stride, steps: t.steps}[f.by]
		if f.value == 0 {
			by = 0 // zero is no id and no time
		}
		buf = append(buf, e.text[from:f.at]...)
		buf = strconv.AppendInt(buf, f.value+k*by, 10)
		from = f.end
	}
	return append(buf, e.text[from:]...)
}
