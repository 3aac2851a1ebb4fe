package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// stretched writes a recording of a given length in bytes: the lines of a case repeatedly, with
// later times, compressed second by second as a Writer does. It returns its duration and the
// number of steps.
func stretched(t testing.TB, out io.Writer, name string, most int64) (seconds float64, steps int) {
	t.Helper()
	file, err := os.Open(filepath.Join("../testdata/cases", name, "run.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var head, body []line
	var span float64
	each := 0
	for rows := bufio.NewScanner(zip); rows.Scan(); {
		var l line
		if err := json.Unmarshal(rows.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		switch l.Kind {
		case "header", "facts":
			head = append(head, l)
			continue
		case "step":
			each = max(each, l.N+1)
		}
		span = max(span, l.T)
		body = append(body, l)
	}
	span = float64(int(span) + 1)
	p := &packer{t: t, out: out}
	for _, l := range head {
		p.add(l)
	}
	for p.total < most {
		for _, l := range body {
			if l.Kind != "clock" {
				p.second(l.T + seconds)
				l.T = roundMicros(l.T + seconds)
			}
			if l.Kind == "step" || l.Kind == "clock" {
				l.N += steps
			}
			p.add(l)
		}
		seconds += span
		steps += each
	}
	p.flush()
	return seconds, steps
}

// packer packs lines as a Writer does.
type packer struct {
	t     testing.TB
	out   io.Writer
	zip   *gzip.Writer
	lines []byte
	at    float64
	total int64
}

func (p *packer) add(l line) {
	if l.Kind == "sample" {
		p.lines = appendSample(p.lines, l)
		return
	}
	text, err := json.Marshal(l)
	if err != nil {
		p.t.Fatal(err)
	}
	p.lines = append(append(p.lines, text...), '\n')
}

// second begins a member where a second has passed.
func (p *packer) second(now float64) {
	if now >= p.at+1 {
		p.at = now
		p.flush()
	}
}

func (p *packer) flush() {
	if p.zip == nil {
		p.zip, _ = gzip.NewWriterLevel(p.out, gzip.BestSpeed)
	}
	p.zip.Reset(p.out)
	if _, err := p.zip.Write(p.lines); err != nil {
		p.t.Fatal(err)
	}
	if err := p.zip.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.total += int64(len(p.lines))
	p.lines = p.lines[:0]
}

// A recording that weighs more than fits opens with less of everything, evenly, and says
// how much that is: the mean of its steps and the rates of its signals stay what they are.
func TestHeavyRecordings(t *testing.T) {
	var file bytes.Buffer
	_, steps := stretched(t, &file, "labelled-cpu-exhausted", 4<<20)
	whole, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil || len(whole.Warnings) > 0 || len(whole.Steps) != steps {
		t.Fatalf("%v, %q, %d steps of %d", err, whole.Warnings, len(whole.Steps), steps)
	}
	want := whole.Windows()[0]
	for form, data := range map[string][]byte{"members": file.Bytes(), "plain": unpacked(t, file.Bytes()), "one member": packed(string(unpacked(t, file.Bytes())))} {
		most := usual
		most.kept, most.member = 1<<20, 1<<19
		run, err := readLimited(bytes.NewReader(data), most)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if len(run.Warnings) != 1 || !regexp.MustCompile(`^the recording is too large to be kept whole: one step in [248] and one value in [0-9.]+ s of each signal are kept$`).MatchString(run.Warnings[0]) {
			t.Errorf("%s: %q", form, run.Warnings)
		}
		got := run.Windows()[0]
		if n := len(got.Steps); n < 500 || n*got.OneIn < steps/2 || n*got.OneIn > steps*2 {
			t.Errorf("%s: %d steps, one in %d of %d", form, n, got.OneIn, steps)
		}
		if got.Time() < want.Time()*0.95 || got.Time() > want.Time()*1.05 || got.End-got.Start < 0.8*(want.End-want.Start) {
			t.Errorf("%s: a step takes %.4f s from %.1f s to %.1f s, of all %.4f s from %.1f s to %.1f s",
				form, got.Time(), got.Start, got.End, want.Time(), want.Start, want.End)
		}
		for _, s := range whole.All(PressureCPU) {
			// counters of a stretched recording restart every 28 s, so the rate is taken within
			// one period
			if a, b := s.Rate(1, 27), run.Find(s.Signal, s.Subject).Rate(1, 27); math.Abs(a-b) > 0.1*math.Abs(a) {
				t.Errorf("%s: %s of %s is %v, of all values %v", form, s.Signal, s.Subject, b, a)
			}
		}
	}
}

// Behind the limit of lines nothing is read, and a sentence says so.
func TestLimitOfLines(t *testing.T) {
	var file bytes.Buffer
	_, steps := stretched(t, &file, "labelled-cpu-exhausted", 2<<20)
	for form, data := range map[string][]byte{"members": file.Bytes(), "plain": unpacked(t, file.Bytes()), "one member": packed(string(unpacked(t, file.Bytes())))} {
		most := usual
		most.lines, most.member = 1<<20, 1<<18
		run, err := readLimited(bytes.NewReader(data), most)
		if err != nil || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], "longer than the 1 MiB of lines that are read of one: what comes after") {
			t.Fatalf("%s: %v, %q", form, err, run.Warnings)
		}
		if n := len(run.Steps); n < steps/4 || n > steps*3/4 {
			t.Errorf("%s: %d of %d steps", form, n, steps)
		}
	}
}

// A large member, as comes from packing a recording again, is refused where its
// checksum is wrong, and read as far as it goes where its end is missing.
func TestDamagedLargeMember(t *testing.T) {
	var file bytes.Buffer
	_, steps := stretched(t, &file, "labelled-cpu-exhausted", 2<<20)
	data := packed(string(unpacked(t, file.Bytes())))
	most := usual
	most.member = 1 << 18
	run, err := readLimited(bytes.NewReader(data[:len(data)-100]), most)
	if err != nil || len(run.Steps) < steps-10 || len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], fmt.Sprintf("is cut at byte %d, ", len(data)-100)) {
		t.Errorf("cut: %v", err)
	}
	data[len(data)-6] ^= 1 // of the checksum
	if _, err := readLimited(bytes.NewReader(data), most); err == nil || !strings.Contains(err.Error(), "a large part of the file is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// Lines of unknown content take no more memory than those of a job, whether or not they repeat.
func TestWeightOfStrangeLines(t *testing.T) {
	many := func(line func(i int) string) []byte {
		var b strings.Builder
		b.WriteString(header)
		for i := range 20_000 {
			b.WriteString(line(i) + "\n")
		}
		return []byte(b.String())
	}
	long := strings.Repeat("x", 200)
	for name, data := range map[string][]byte{
		"one instant": many(func(int) string { return `{"kind":"sample","t":1,"signal":"s","subject":"a","value":1}` }),
		"backwards": many(func(i int) string {
			return fmt.Sprintf(`{"kind":"sample","t":%d,"signal":"s","subject":"a","value":1}`, 30_000-i)
		}),
		"series": many(func(i int) string {
			return fmt.Sprintf(`{"kind":"sample","t":%d,"signal":"s","subject":"%s%d","value":1}`, i, long, i)
		}),
		"words": many(func(i int) string {
			return fmt.Sprintf(`{"kind":"step","t":%d,"n":%d,"period":1,"no_clock":"%s%d"}`, i, i, long, i)
		}),
		"far ahead": many(func(i int) string {
			return fmt.Sprintf(`{"kind":"step","t":%d,"n":%d,"period":1}`, i%2*1_000_000_000, i)
		}),
	} {
		r := &reader{in: &input{from: bytes.NewReader(data)}, limits: usual, build: newBuilder()}
		r.limits.kept = 100_000
		r.full = func() { r.build.fitInto(100_000) }
		if err := r.readPlain(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if w, b := r.build.weight(), r.build; w > r.limits.kept || !b.scarce && b.begins == 0 && b.old == oldEvery {
			t.Errorf("%s: weight %d of %d", name, w, r.limits.kept)
		}
	}
	r := &reader{in: &input{from: bytes.NewReader(many(func(int) string { return `{"kind":"host","t":1,"end":2,"name":"launch"}` }))}, limits: usual, build: newBuilder()}
	r.limits.events = 10_000
	if err := r.readPlain(); !errors.Is(err, errEvents) {
		t.Errorf("a timeline: %v", err)
	}
}

// The fast path for samples reads the same as the general one, and leaves lines of another form
// to it.
func TestPlainSamples(t *testing.T) {
	for _, c := range []struct {
		line  string
		plain bool
	}{
		{`{"kind":"sample","t":1.5,"signal":"tree.cpu","subject":"tree","value":2}`, true},
		{`{"kind":"sample","signal":"tree.cpu","subject":"tree","value":-2e-7}`, true},
		{`{"kind":"sample","t":0.25,"signal":"tree.cpu","value":0}`, true},
		{`{"kind":"sample","t":1,"signal":"a\u0041","value":0}`, false},
		{`{"kind":"sample","t":1,"signal":"größe","value":0}`, false},
		{`{"kind":"sample","t":01,"signal":"a","value":0}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":inf}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":0x1p4}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":1e999}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":"1"}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":null}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":1,"new":2}`, false},
		{`{"kind":"sample","t":1,"signal":"a","value":1} `, false},
		{`{"kind":"sample","signal":"a","t":1,"value":1}`, false},
		{`{"kind":"sample"`, false},
		{`{"kind":"sample"}`, false},
	} {
		short, long := newBuilder(), newBuilder()
		if got := short.plainSample([]byte(c.line)); got != c.plain {
			t.Errorf("%s: short way %t, want %t", c.line, got, c.plain)
		}
		if !c.plain {
			if len(short.run.Series) > 0 {
				t.Errorf("%s: refused, and taken", c.line)
			}
			continue
		}
		var l line
		if err := json.Unmarshal([]byte(c.line), &l); err != nil {
			t.Fatal(err)
		}
		if err := long.addLine(l); err != nil || text(t, long.finish()) != text(t, short.finish()) {
			t.Errorf("%s: the two ways differ (%v)", c.line, err)
		}
	}
}

// The fast path for steps reads the same as the general one, also for all recordings here, and
// leaves lines of another form to it.
func TestPlainSteps(t *testing.T) {
	lines := map[string]bool{ // whether they are plain
		`{"kind":"step"}`: true,
		`{"kind":"step","t":-0.5e+3,"n":-0,"samples":16}`:     true,
		`{"kind":"step","first":true,"phase":"","wait":1E-3}`: true,
		`{"kind":"clock","pid":7,"no_clock":"no device"}`:     true,
		`{"kind":"step","first":false}`:                       false,
		`{"kind":"step","phase":train}`:                       false,
		`{"kind":"step","phase":"tr\u0061in"}`:                false,
		`{"kind":"step","pid":1.5}`:                           false,
		`{"kind":"step","pid":1e3}`:                           false,
		`{"kind":"step","t":1e19}`:                            false,
		`{"kind":"step","period":1e-19}`:                      false,
		`{"kind":"step","wait":01}`:                           false,
		`{"kind":"step","wait":+1}`:                           false,
		`{"kind":"step","wait":1.}`:                           false,
		`{"kind":"step","wait":.5}`:                           false,
		`{"kind":"step","wait":1e}`:                           false,
		`{"kind":"step","wait":-}`:                            false,
		`{"kind":"step","wait":}`:                             false,
		`{"kind":"step","wait":1`:                             false,
		`{"kind":"step","wait":1}}`:                           false,
		`{"kind":"step","wait":1,}`:                           false,
		`{"kind":"step","period":null}`:                       false,
		`{"kind":"step","inside":{"clock":"host"}}`:           false,
		`{"kind":"step","new":1}`:                             false,
		`{"kind":"step"`:                                      false,
		`{"kind":"steps"}`:                                    false,
		`{"kind":"step" ,"wait":1}`:                           false,
	}
	files, err := filepath.Glob("../testdata/cases/*/run.jsonl.gz")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files[:10] {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(unpacked(t, data)) {
			text = bytes.TrimSpace(text)
			if _, plain := plainStep(text); plain {
				lines[string(text)] = true
			}
		}
	}
	if len(lines) < 1000 {
		t.Errorf("%d lines are plain: steps of a Writer should be", len(lines))
	}
	for text, want := range lines {
		short, plain := plainStep([]byte(text))
		var long line
		err := json.Unmarshal([]byte(text), &long)
		if err == nil {
			err = long.gateNumbers()
		}
		if plain != want || plain && (err != nil || !reflect.DeepEqual(short, long)) {
			t.Errorf("%s: short way %t, want %t\n%+v\n%+v, %v", text, plain, want, short, long, err)
		}
	}
}

func unpacked(t testing.TB, data []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// BenchmarkLong reads a recording of STOKER_LONG_MB of lines (64 by default) from STOKER_LONG,
// which it creates if it does not exist.
func BenchmarkLong(b *testing.B) {
	megabytes, err := strconv.Atoi(os.Getenv("STOKER_LONG_MB"))
	if err != nil {
		megabytes = 64
	}
	path := os.Getenv("STOKER_LONG")
	if path == "" {
		path = filepath.Join(b.TempDir(), "long.jsonl.gz")
	}
	if _, err := os.Stat(path); err != nil {
		file, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		seconds, steps := stretched(b, file, "labelled-cpu-exhausted", int64(megabytes)<<20)
		b.Logf("%v of %d steps", time.Duration(seconds)*time.Second, steps)
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(megabytes) << 20)
	for b.Loop() {
		run, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(run.Steps)), "steps")
		b.Logf("%d series, %d steps, %q", len(run.Series), len(run.Steps), run.Warnings)
	}
}

// A disk that fails is an error, not a recording that ends there.
func TestReadErrors(t *testing.T) {
	var file bytes.Buffer
	stretched(t, &file, "labelled-cpu-exhausted", 1<<18)
	failing := errors.New("input/output error")
	for form, data := range map[string][]byte{"members": file.Bytes(), "plain": unpacked(t, file.Bytes())} {
		for _, n := range []int{0, 1, 100, len(data) / 2, len(data)} {
			_, err := Read(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(failing)))
			if !errors.Is(err, failing) {
				t.Errorf("%s after %d bytes: %v", form, n, err)
			}
		}
	}
}

// A file that ends within a second says so, and where, as steps may be missing.
func TestCutSaysWhere(t *testing.T) {
	var file bytes.Buffer
	stretched(t, &file, "labelled-cpu-exhausted", 1<<18)
	for form, data := range map[string][]byte{"members": file.Bytes(), "plain": unpacked(t, file.Bytes())} {
		whole, err := Read(bytes.NewReader(data))
		if err != nil || whole.Cut != "" {
			t.Fatalf("%s: %v, %q", form, err, whole.Cut)
		}
		cut := data[:len(data)/2+7]
		run, err := Read(bytes.NewReader(cut))
		if err != nil || !strings.Contains(run.Cut, fmt.Sprintf("is cut at byte %d, ", len(cut))) || !slices.Contains(run.Warnings, run.Cut) {
			t.Errorf("%s: %v, %q", form, err, run.Cut)
		}
	}
}
