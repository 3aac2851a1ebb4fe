package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	klauspost "github.com/klauspost/compress/zlib"
)

// contents returns data of all kinds: incompressible and highly compressible, with near and far
// matches, few and many symbols, long codes.
func contents() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	random := func(n, values int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(values))
		}
		return b
	}
	skewed := make([]byte, 150_000)
	for i := range skewed { // codes of up to fifteen bits
		for skewed[i] < 255 && r.IntN(3) > 0 {
			skewed[i]++
		}
	}
	near := []byte{}
	for distance := 1; distance < 20; distance++ {
		near = append(near, bytes.Repeat(random(distance, 256), 40)...)
	}
	far := random(32768, 256)
	all := map[string][]byte{
		"nothing": {}, "a byte": {7}, "zeros": make([]byte, 100_000), "noise": random(70_000, 256), "shades": random(100_000, 20),
		"skewed": skewed, "near": near, "far": append(append(bytes.Clone(far), far...), far[:1000]...),
		"words": []byte(strings.Repeat("what is packed comes again, but not always; ", 300)), "two": random(5000, 2),
	}
	for n := range 20 {
		all[fmt.Sprint("short ", n)] = random(n*n, 3)
	}
	return all
}

// packers write zlib streams: stored, with fixed codes, with dynamic codes.
func packers() map[string]func(io.Writer) io.WriteCloser {
	all := map[string]func(io.Writer) io.WriteCloser{}
	for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
		all[fmt.Sprint("Go ", level)] = func(w io.Writer) io.WriteCloser { z, _ := zlib.NewWriterLevel(w, level); return z }
		all[fmt.Sprint("klauspost ", level)] = func(w io.Writer) io.WriteCloser { z, _ := klauspost.NewWriterLevel(w, level); return z }
	}
	return all
}

func pack(with func(io.Writer) io.WriteCloser, content []byte) []byte {
	var out bytes.Buffer
	w := with(&out)
	w.Write(content)
	w.Close()
	return out.Bytes()
}

// check unpacks a stream into memory with something behind it.
func check(u *Unpacker, stream, want []byte) error {
	to := bytes.Repeat([]byte{0xa5}, len(want)+64)
	if err := u.Unpack(to[:len(want)], stream); err != nil {
		return err
	}
	if !bytes.Equal(to[:len(want)], want) {
		return errors.New("other bytes")
	}
	if !bytes.Equal(to[len(want):], bytes.Repeat([]byte{0xa5}, 64)) {
		return errors.New("bytes behind the room were written")
	}
	return nil
}

func TestUnpack(t *testing.T) {
	defer func(before bool) { Assembly = before }(Assembly)
	for _, Assembly = range []bool{Assembly, false} {
		testUnpack(t)
	}
}

func testUnpack(t *testing.T) {
	u := new(Unpacker)
	for how, with := range packers() {
		for name, content := range contents() {
			stream := pack(with, content)
			if err := check(u, stream, content); err != nil {
				t.Errorf("%s by %s: %v", name, how, err)
			}
			if err := check(u, stream, append(bytes.Clone(content), 0)); !errors.Is(err, ErrSize) {
				t.Errorf("%s by %s, into a byte more: %v, want %v", name, how, err, ErrSize)
			}
			if len(content) > 0 {
				if err := check(u, stream, content[:len(content)-1]); !errors.Is(err, ErrSize) {
					t.Errorf("%s by %s, into a byte less: %v, want %v", name, how, err, ErrSize)
				}
			}
			if err := check(u, append(bytes.Clone(stream), 0), content); !errors.Is(err, ErrSize) {
				t.Errorf("%s by %s, with a byte behind it: %v, want %v", name, how, err, ErrSize)
			}
		}
	}
}

// TestStreamsOfPNGs: streams of PNGs written by Pillow inflate as in the standard library.
func TestStreamsOfPNGs(t *testing.T) {
	paths, _ := filepath.Glob("../testdata/*/*.png")
	u, sound := new(Unpacker), 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var packed []byte
		for at := 8; at+12 <= len(data); {
			size := int(binary.BigEndian.Uint32(data[at:]))
			if size > len(data)-at-12 {
				break
			}
			if string(data[at+4:at+8]) == "IDAT" {
				packed = append(packed, data[at+8:at+8+size]...)
			}
			at += 12 + size
		}
		if want, err := byLibrary(packed); err == nil {
			sound++
			if err := check(u, packed, want); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if sound < 10 {
		t.Errorf("%d PNGs were compared", sound)
	}
}

// byLibrary is what the standard library says a stream holds that is nothing but a stream, up to a size. The library
// takes a stream that asks for a dictionary of no bytes; zlib and PNG do not.
func byLibrary(stream []byte) ([]byte, error) {
	if len(stream) > 1 && stream[1]&0x20 != 0 {
		return nil, zlib.ErrDictionary
	}
	in := bytes.NewReader(stream)
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(z, mostCompared+1))
	if err == nil && (in.Len() > 0 || len(content) > mostCompared) {
		err = errors.New("too much")
	}
	return content, err
}

const mostCompared = 1 << 22

// agree compares with the standard library: the same bytes, or both find a fault.
func agree(u *Unpacker, stream []byte) error {
	want, fault := byLibrary(stream)
	if fault == nil {
		if err := check(u, stream, want); err != nil {
			return fmt.Errorf("%w; the library takes it: %d bytes", err, len(want))
		}
		return nil
	}
	for more := range 4 {
		if u.Unpack(make([]byte, len(want)+more), stream) == nil {
			return fmt.Errorf("it is taken as %d bytes; the library says %w", len(want)+more, fault)
		}
	}
	return nil
}

// agreeOnBlocks does so for blocks, with the header and the checksum that belong to them.
func agreeOnBlocks(u *Unpacker, blocks []byte) error {
	in := bytes.NewReader(blocks)
	content, _ := io.ReadAll(io.LimitReader(flate.NewReader(in), mostCompared))
	stream := append([]byte{0x78, 0x9c}, blocks[:len(blocks)-in.Len()]...)
	return agree(u, binary.BigEndian.AppendUint32(stream, adler32.Checksum(content)))
}

// TestDamage: of small streams every shorter one and every one with another bit is judged as by the standard library.
func TestDamage(t *testing.T) {
	u := new(Unpacker)
	r := rand.New(rand.NewPCG(5, 6))
	long := make([]byte, 900) // for the loop that does many symbols at once
	for i := range long {
		long[i] = byte(r.IntN(1 + r.IntN(100)))
	}
	all := packers()
	for _, how := range []string{"Go 0", "Go -2", "Go 1", "Go 6", "klauspost 1", "klauspost 9"} {
		for _, content := range [][]byte{[]byte(strings.Repeat("abcabcab", 12)), {}, long} {
			if len(content) == len(long) && how != "Go 6" {
				continue
			}
			stream := pack(all[how], content)
			for n := range stream {
				if err := agree(u, stream[:n]); err != nil {
					t.Fatalf("%s, %d of %d bytes: %v", how, n, len(stream), err)
				}
			}
			for bit := range 8 * len(stream) {
				bent := bytes.Clone(stream)
				bent[bit/8] ^= 1 << (bit % 8)
				if err := agree(u, bent); err != nil {
					t.Fatalf("%s, bit %d: %v", how, bit, err)
				}
				if err := agreeOnBlocks(u, bent[2:]); err != nil {
					t.Fatalf("%s, blocks, bit %d: %v", how, bit, err)
				}
			}
		}
	}
}

// FuzzUnpack takes any bytes as a stream and as blocks.
func FuzzUnpack(f *testing.F) {
	for _, with := range packers() {
		for _, content := range []string{"", "a", "abababababababab", "what is packed comes again, but not always"} {
			f.Add(pack(with, []byte(content)))
		}
	}
	f.Add([]byte{0x78, 0x20, 0, 0, 0, 1, 1, 0, 0, 0xff, 0xff, 0, 0, 0, 1}) // asks for a dictionary of no bytes
	u := new(Unpacker)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := agree(u, data); err != nil {
			t.Fatal(err)
		}
		if err := agreeOnBlocks(u, data[min(2, len(data)):]); err != nil {
			t.Fatal(err)
		}
	})
}
