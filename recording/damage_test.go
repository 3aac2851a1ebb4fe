package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func packed(parts ...string) []byte {
	var out bytes.Buffer
	for _, part := range parts {
		zip := gzip.NewWriter(&out)
		_, _ = zip.Write([]byte(part))
		_ = zip.Close()
	}
	return out.Bytes()
}

const header = `{"kind":"header","format":1,"version":"test","unix":1,"monotonic_ns":2}` + "\n"

// A recording that is cut anywhere opens with all that is complete before the
// cut, or says why it cannot.
func TestEveryCut(t *testing.T) {
	path, _ := recorded(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for cut := range data {
		run, err := Read(bytes.NewReader(data[:cut]))
		if err != nil {
			if steps > 0 || len(err.Error()) < 20 {
				t.Fatalf("cut at %d of %d: %v", cut, len(data), err)
			}
			continue
		}
		if len(run.Steps) < steps {
			t.Fatalf("cut at %d: %d steps, a shorter file had %d", cut, len(run.Steps), steps)
		}
		steps = len(run.Steps)
	}
	if steps < 16 {
		t.Errorf("at most %d steps were read of a cut file", steps)
	}
}

func TestEveryCutOfPlainLines(t *testing.T) {
	_, live := recorded(t)
	data := text(t, live)
	first := strings.Index(data, "\n")
	for cut := range data {
		run, err := Read(strings.NewReader(data[:cut]))
		if cut > first && err != nil || err == nil && cut < first {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err == nil && len(run.Warnings) > 1 {
			t.Fatalf("cut at %d: %q", cut, run.Warnings)
		}
	}
}

// A flipped byte costs at most the members around it, never the recording, but
// for the first one with the clock base.
func TestEveryFlip(t *testing.T) {
	path, _ := recorded(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := len(packed(header))
	for at := range data {
		for _, mask := range []byte{0x01, 0x80, 0xff} {
			spoilt := bytes.Clone(data)
			spoilt[at] ^= mask
			run, err := Read(bytes.NewReader(spoilt))
			if err != nil {
				if at > 2*first {
					t.Fatalf("byte %d with %#x: %v", at, mask, err)
				}
				continue
			}
			if lost := 20 - len(run.Steps); lost > 8 {
				t.Fatalf("byte %d with %#x: %d steps lost", at, mask, lost)
			}
		}
	}
}

func TestBadFiles(t *testing.T) {
	huge := `{"kind":"sample","subject":"` + strings.Repeat("x", maxLine) + `"}` + "\n"
	for name, c := range map[string]struct {
		data []byte
		want string // part of the error; "" if it opens
	}{
		"empty":              {nil, "the file is empty"},
		"one byte":           {[]byte{0x1f}, "expected a recording"},
		"text":               {[]byte("hello\nworld\n"), "expected a recording"},
		"other JSON":         {[]byte(`{"traceEvents":[]}` + "\n"), "expected a recording"},
		"an array":           {[]byte(`[1,2]` + "\n"), "expected a recording"},
		"text in gzip":       {packed("hello\n"), "expected a recording"},
		"nothing in gzip":    {packed(""), "expected a recording"},
		"a binary":           {[]byte("\x7fELF\x02\x01\x01\x00\x00\x00"), "expected a recording"},
		"long line of text":  {bytes.Repeat([]byte("x"), maxLine+1), "expected a recording"},
		"newer":              {[]byte(`{"kind":"header","format":99,"version":"9.9"}` + "\n"), "use stoker 9.9 or newer"},
		"newer in gzip":      {packed(`{"kind":"header","format":99,"version":"9.9"}` + "\n"), "use stoker 9.9 or newer"},
		"no format":          {[]byte(`{"kind":"header"}` + "\n"), "expected a recording"},
		"bomb":               {packed(header, strings.Repeat("0", 80<<20)), "unpacks to far more"},
		"bomb of many lines": {packed(header, strings.Repeat("{}\n", 24<<20)), "unpacks to far more"},
		"huge line":          {[]byte(header + huge), "too long"},
		"gzip header only":   {packed(header)[:10], "ends within its first second"},
		"header only":        {packed(header), ""},
		"unknown kinds":      {packed(header + `{"kind":"flux","t":1}` + "\n" + `{"kind":"sample","new":{"a":[1]}}` + "\n"), ""},
		"zeros behind":       {append(packed(header), make([]byte, 4096)...), ""},
		"garbage between":    {append(append(packed(header), "garbage\x1f\x8b\x08zz"...), packed("{}\n")...), ""},
		"damaged first":      {append([]byte{0x1f, 0x8b, 8, 9, 9, 9}, packed(header)...), ""},
	} {
		run, err := Read(bytes.NewReader(c.data))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		case c.want == "" && run == nil:
			t.Errorf("%s: no run", name)
		}
	}
}

func TestNewerFormatError(t *testing.T) {
	_, err := Read(strings.NewReader(`{"kind":"header","format":99,"version":"9.9"}`))
	var newer *newerFormatError
	if !errors.As(err, &newer) || newer.Format != 99 {
		t.Errorf("error %v", err)
	}
}

func TestOpenSaysWhich(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestLinksStayInside(t *testing.T) {
	run, err := Read(strings.NewReader(header +
		`{"kind":"device","t":1,"end":2,"name":"k","work":"kernel","call":7}` + "\n" +
		`{"kind":"device","t":1,"end":2,"name":"k","work":"kernel","call":-9}` + "\n" +
		`{"kind":"host","t":1,"end":2,"name":"launch"}` + "\n" +
		`{"kind":"device","t":1,"end":2,"name":"k","work":"copy","call":0}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Timeline.Device.Call; got[0] != -1 || got[1] != -1 || got[2] != 0 {
		t.Errorf("calls %v", got)
	}
}

// deep counts inputs that came past the header, so that a fuzz run which only
// ever meets the front door is noticed.
var deep atomic.Int64

func FuzzRead(f *testing.F) {
	f.Add([]byte(header))
	f.Add(packed(header, `{"kind":"sample","t":1,"signal":"tree.cpu","subject":"tree","value":2}`+"\n"))
	f.Add([]byte(header + `{"kind":"step","pid":1,"t":1,"period":0.5,"phase":"train"}` + "\n" + `{"kind":"clock","pid":1,"idle":0.1}` + "\n"))
	f.Add([]byte(header + `{"kind":"device","t":1,"end":2,"name":"k","work":"kernel","call":0}` + "\n" + `{"kind":"facts","facts":{"loaders":[{"settings":{"num_workers":4}}]}}`))
	f.Add([]byte(header + `{"kind":"thinned","to":9,"every":2,"one_in":4}` + "\n" + `{"kind":"thinned","t":3,"every":1}` + "\n" +
		`{"kind":"sample","t":3.5,"signal":"tree.cpu","value":2}` + "\n" + `{"kind":"sample","t":3.7,"signal":"tree.cpu","value":2}` + "\n" + `{"kind":"step","pid":1,"t":9999,"n":70,"period":0.5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		most := usual
		most.kept = 4000 // so that most inputs are thinned
		if run, err := readLimited(bytes.NewReader(data), most); err == nil {
			_ = run.Windows()
		}
		run, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		deep.Add(1)
		var trimmed bytes.Buffer
		if _, err := trimTo(&trimmed, bytes.NewReader(data), run.notJudged(), oldEvery); err == nil {
			if again, err := Read(&trimmed); err != nil || again.End() != run.End() {
				t.Fatalf("a run that was trimmed cannot be read: %v", err)
			}
		}
		for _, w := range run.Windows() {
			_, _, _ = w.Time(), w.Idle(), w.String()
		}
		run.End()
		for i := range run.Series {
			run.Series[i].Rate(0, 1)
		}
		var out bytes.Buffer
		if err := Write(&out, run); err != nil {
			t.Fatalf("a run that was read cannot be written: %v", err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("a run that was written cannot be read: %v", err)
		}
		// Once more, as null and {} are the same settings but not the same text.
		third, err := Read(strings.NewReader(text(t, again)))
		if err != nil || text(t, third) != text(t, again) {
			t.Fatal("reading what was written gives another run")
		}
	})
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // then other processes count
	if !fuzzing && deep.Load() == 0 {
		f.Error("no input came past the header")
	}
}

// After a power failure a disk has kept some of the blocks that were not synced, in no order,
// and a length that may count blocks never written. The rest of the recording opens, and has
// each second whose blocks are all there.
func TestPowerCut(t *testing.T) {
	path, _ := recorded(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cuts, err := strconv.Atoi(os.Getenv("STOKER_CUTS"))
	if err != nil {
		cuts = 300
	}
	chance := rand.New(rand.NewPCG(9, 9))
	first := members(t, data)[1] // the header's member, which was written long ago
	for range cuts {
		block := []int{64, 512, 4096}[chance.IntN(3)]
		left, lost := bytes.Clone(data), map[int]bool{}
		for at := first/block*block + block; at < len(left); at += block {
			if chance.IntN(3) == 0 {
				clear(left[at:min(len(left), at+block)])
				lost[at/block] = true
			}
		}
		left = left[:max(first, len(left)-chance.IntN(block))]
		run, err := Read(bytes.NewReader(left))
		if err != nil {
			t.Fatalf("%d of %d blocks of %d bytes are lost: %v", len(lost), len(data)/block, block, err)
		}
		want := 0
		bounds := append(members(t, data), len(data))
		for i := range len(bounds) - 1 {
			whole := bounds[i+1] <= len(left)
			for b := bounds[i] / block; b <= (bounds[i+1]-1)/block; b++ {
				whole = whole && !lost[b]
			}
			if whole {
				part, err := Read(io.MultiReader(bytes.NewReader(data[:first]), bytes.NewReader(data[bounds[i]:bounds[i+1]])))
				if err != nil {
					t.Fatal(err)
				}
				want += len(part.Steps)
			}
		}
		if len(run.Steps) < want {
			t.Fatalf("%d steps of at least %d, with %d blocks of %d bytes lost: %q", len(run.Steps), want, len(lost), block, run.Warnings)
		}
	}
}

// members are where the members of a recording begin.
func members(t *testing.T, data []byte) (at []int) {
	t.Helper()
	r := &reader{in: &input{from: bytes.NewReader(data)}, limits: usual, build: newBuilder(), full: func() {}}
	for r.in.offset() < int64(len(data)) {
		at = append(at, int(r.in.offset()))
		if err := r.readMember(r.in.offset()); err != nil {
			t.Fatal(err)
		}
		r.in.mark()
	}
	return at
}

// A flipped byte in a recording of a megabyte is noticed, or changes nothing, and loses only
// its second. Only that second and the next are read each time, because a member affects
// nothing else of a file. STOKER_FLIPS=1 flips every byte, 10 every tenth.
func TestFlipsOfAMegabyte(t *testing.T) {
	stride, err := strconv.Atoi(os.Getenv("STOKER_FLIPS"))
	if err != nil {
		stride = 4999
	}
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := long(t, path, 1300, segment).Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := append(members(t, data), len(data))
	flips, noticed := 0, 0
	for i := 1; i+2 < len(at); i++ {
		head, second, next := data[:at[1]], data[at[i]:at[i+1]], data[at[i+1]:at[i+2]]
		whole, err := Read(bytes.NewReader(slices.Concat(head, second, next)))
		after, err2 := Read(bytes.NewReader(slices.Concat(head, next)))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		wholeText, afterText := text(t, whole), text(t, after)
		for b := (stride - at[i]%stride) % stride; b < len(second); b += stride {
			spoilt := bytes.Clone(second)
			spoilt[b] ^= 1 << (flips % 8)
			flips++
			run, err := Read(bytes.NewReader(slices.Concat(head, spoilt, next)))
			if err != nil {
				t.Fatalf("byte %d: %v", at[i]+b, err)
			}
			lost := len(run.Warnings) > 0
			if lost {
				noticed++
			}
			run.Warnings = nil
			got := text(t, run)
			if kept := got == afterText || len(run.Steps) == len(after.Steps); got != wholeText && (!lost || !kept) {
				t.Fatalf("byte %d: noticed is %t, and %d bytes of lines are read of %d", at[i]+b, lost, len(got), len(wholeText))
			}
		}
	}
	t.Logf("%d of %d bytes flipped, %d noticed, no other second lost", flips, len(data), noticed)
}
