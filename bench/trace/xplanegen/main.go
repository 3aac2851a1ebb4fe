// Xplanegen makes a large xplane.pb of a small one: the lines of every plane are
// repeated, each time later by the length of the profile, until the file has the
// wanted size. It is for measuring how fast and with how much memory such files are
// read:
//
//	go run ./bench/trace/xplanegen -size 1e9 SMALL.xplane.pb LARGE.xplane.pb
//	/usr/bin/time -v stoker trace LARGE.xplane.pb
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

func main() {
	size := flag.Float64("size", 1e9, "bytes of the file to write")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "xplanegen: give the file to repeat and the file to write")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *size); err != nil {
		fmt.Fprintln(os.Stderr, "xplanegen:", err)
		os.Exit(1)
	}
}

// plane is one plane in parts; line one line.
type (
	plane struct {
		head, tail []byte // what lies before and behind the lines
		lines      []line
	}
	line struct {
		at   uint64 // ns
		rest []byte
	}
)

func run(from, to string, size float64) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var planes []plane
	var other []byte
	length := uint64(0)
	err = fields(data, func(n protowire.Number, value, whole []byte) error {
		if n != 1 {
			other = append(other, whole...)
			return nil
		}
		p, last, err := split(value)
		planes, length = append(planes, p), max(length, last)
		return err
	})
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	repeats := max(1, int(size/float64(len(data))))
	for _, p := range planes {
		p.write(w, repeats, length)
	}
	_, _ = w.Write(other) // Flush tells
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Close()
}

// fields calls each for the fields of a message, which must be bytes or numbers.
func fields(b []byte, each func(n protowire.Number, value, whole []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return fmt.Errorf("parse protobuf: %w", protowire.ParseError(n))
		}
		var value []byte
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(b)
			value, _ = protowire.ConsumeBytes(b[tag:])
		}
		if err := each(number, value, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// split takes a plane apart, and says when its last event ends, ns.
func split(b []byte) (p plane, last uint64, err error) {
	err = fields(b, func(n protowire.Number, value, whole []byte) error {
		switch {
		case n == 3:
			l := line{}
			err := fields(value, func(n protowire.Number, value, whole []byte) error {
				if n == 3 {
					l.at = fieldNumber(whole)
					return nil
				}
				l.rest = append(l.rest, whole...)
				if n == 4 {
					last = max(last, l.at+eventEnd(value)/1000)
				}
				return nil
			})
			p.lines = append(p.lines, l)
			return err
		case len(p.lines) == 0:
			p.head = append(p.head, whole...)
		default:
			p.tail = append(p.tail, whole...)
		}
		return nil
	})
	return p, last, err
}

// eventEnd is when an event ends, ps since its line's start.
func eventEnd(event []byte) (ps uint64) {
	_ = fields(event, func(n protowire.Number, _, whole []byte) error { // a damaged one counts for nothing
		if n == 2 || n == 3 {
			ps += fieldNumber(whole)
		}
		return nil
	})
	return ps
}

func fieldNumber(field []byte) uint64 {
	_, _, tag := protowire.ConsumeTag(field)
	v, _ := protowire.ConsumeVarint(field[tag:])
	return v
}

// write writes a plane with its lines repeated.
func (p plane) write(w *bufio.Writer, repeats int, length uint64) {
	size := len(p.head) + len(p.tail)
	for r := range repeats {
		for _, l := range p.lines {
			body := len(l.rest) + len(stamp(l, r, length))
			size += protowire.SizeTag(3) + protowire.SizeBytes(body)
		}
	}
	header := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), uint64(size))
	_, _ = w.Write(header)
	_, _ = w.Write(p.head)
	for r := range repeats {
		for _, l := range p.lines {
			at := stamp(l, r, length)
			header := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.BytesType),
				uint64(len(l.rest)+len(at)))
			_, _ = w.Write(header)
			_, _ = w.Write(at) // before the events, as the walk needs it
			_, _ = w.Write(l.rest)
		}
	}
	_, _ = w.Write(p.tail)
}

func stamp(l line, repeat int, length uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), l.at+uint64(repeat)*length)
}
