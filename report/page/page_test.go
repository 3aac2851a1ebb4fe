package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// pageOf is a page as it is written, and what the script finds in it.
func pageOf(t *testing.T, s page.Subject) (string, pageData) {
	t.Helper()
	var b bytes.Buffer
	if err := page.WriteRun(&b, s); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	var d pageData
	if err := json.Unmarshal([]byte(between(text, `id="data">`, "</script>")), &d); err != nil {
		t.Fatalf("the script's data: %v", err)
	}
	return text, d
}

type pageData struct {
	Strips []struct {
		From, To float64
		Tracks   []struct {
			Name, Unit string
			Values     []*float64
		}
	}
	WhatIf *struct {
		Workers, Prefetch []int
		Rows              [][]struct{ Low, Point, High, Stall, Throughput *float64 }
		Now               [2]int
	} `json:"what_if"`
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	inside, _, _ := strings.Cut(rest, to)
	return inside
}

func subjectOf(run *recording.Run) page.Subject {
	v := judge.Judge(run)
	return page.Subject{Name: "run.jsonl.gz", Version: "test", Run: run, Verdict: v, Plan: advise.Rank(run, v)}
}

// A page of any situation is self-contained: it loads nothing, its policy allows only its style
// and script, and it contains the output of --json.
func TestPageIsSelfContained(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cases/*/run.jsonl*")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	loads := regexp.MustCompile(`(?i)\b(src|action|data|poster|srcset)\s*=|url\(|@import|<(link|iframe|object|embed|base|img)\b|\bon[a-z]+\s*=\s*"|\bstyle\s*=|href="[^#]`)
	for _, file := range files {
		run, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		s := subjectOf(run)
		text, _ := pageOf(t, s)
		markup := regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(text, "")
		if found := loads.FindString(strings.ReplaceAll(markup, "data-strip=", "")); found != "" {
			t.Errorf("%s: the page has %q", file, found)
		}
		oneValue(t, file, markup, s)
		for _, tag := range []string{"style", "script"} {
			inside := between(text[strings.LastIndex(text, "<"+tag+">"):], "<"+tag+">", "</"+tag+">")
			sum := sha256.Sum256([]byte(inside))
			if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(html.UnescapeString(text), want) {
				t.Errorf("%s: the policy does not allow the page's own %s", file, tag)
			}
		}
		var b bytes.Buffer
		if err := wire.WriteVerdict(&b, s.Run, s.Verdict, s.Plan); err != nil {
			t.Fatal(err)
		}
		if err := golden.CheckSchema("../../docs/schema/diagnose.json", b.Bytes()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		var want, got any
		if err := json.Unmarshal(b.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(between(text, `id="object">`, "</script>")), &got); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the page's JSON is not that of --json", file)
		}
		for _, bad := range []string{"NaN", "+Inf", "ZgotmplZ", "%!"} {
			if strings.Contains(markup, bad) {
				t.Errorf("%s: the page holds %q", file, bad)
			}
		}
	}
}

// said matches the places at which a page says how long the device waits for input.
var said = regexp.MustCompile(`(?:the device waits|waiting) for input (<?[\d.]+ %)(?: at most)?(?: of the time)?`)

// oneValue reports a stall or a step that reads differently in two places of one page.
func oneValue(t *testing.T, file, page string, s page.Subject) {
	t.Helper()
	var shown bytes.Buffer
	if err := text.WriteVerdict(&shown, s.Run, s.Verdict, s.Plan, text.Style{}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(strings.Fields(shown.String()), " ") + text.SumUp(s.Run, s.Verdict) + html.UnescapeString(page)
	for what, pattern := range map[string]*regexp.Regexp{"waiting for input": said, "step": regexp.MustCompile(` of a ([\d.]+ [mµn]?s) step| step ([\d.]+ [mµn]?s) \(median`)} {
		values := map[string]bool{}
		for _, m := range pattern.FindAllStringSubmatch(all, -1) {
			values[strings.Join(m[1:], "")] = true
		}
		if len(values) > 1 {
			t.Errorf("%s: %s has several values on one page: %v", file, what, values)
		}
	}
}

// A page of a long run is no larger than that of a short one.
func TestPageOfALongRun(t *testing.T) {
	run := steady(100_000, 0.02, 0.005)
	text, d := pageOf(t, subjectOf(run))
	if len(text) > 250_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
	if len(d.Strips) != 1 || len(d.Strips[0].Tracks) < 2 {
		t.Fatalf("%d strips", len(d.Strips))
	}
}

// steady is a run of so many steps, all alike.
func steady(steps int, period, wait float64) *recording.Run {
	run := &recording.Run{Facts: recording.Facts{
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer, Device: -1}},
		Loaders:   []recording.Loader{{ID: 0, PID: 1, Settings: stoker.Settings{stoker.NumWorkers: 2}}},
	}}
	for n := range steps {
		run.Steps = append(run.Steps, recording.Step{
			PID: 1, Device: -1, N: n, Start: float64(n) * period, Period: period, Wait: wait, Samples: 8, Phase: recording.Train,
			Idle: math.NaN(), DevicePeriod: math.NaN(), Optimized: 1,
		})
	}
	return run
}

// The parts of a step stand there, in a bar, where steps were looked into.
func TestInsideOfAStep(t *testing.T) {
	run := steady(2000, 0.02, 0.005)
	if text, _ := pageOf(t, subjectOf(run)); strings.Contains(text, "Inside of a step") {
		t.Error("parts that nobody saw")
	}
	for i := range run.Steps {
		run.Steps[i].Inside = &recording.Inside{Clock: "cuda", Span: 0.02, Input: 0.005, Forward: 0.004, Backward: 0.008}
	}
	text, _ := pageOf(t, subjectOf(run))
	for _, want := range []string{"Inside of a step", "on the device&#39;s own clock", "forward 4 ms", "backward 8 ms", "<b>40 %</b>", "rest 3 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

// What the strip shows adds up to what was measured: every second of waiting and
// every sample, in whichever columns steps begin and end.
func TestStripAddsUp(t *testing.T) {
	for _, c := range []struct{ period, wait float64 }{{0.02, 0.005}, {0.37, 0.3}, {40, 10}} {
		run := steady(200, c.period, c.wait)
		_, d := pageOf(t, subjectOf(run))
		strip := d.Strips[0]
		width := (strip.To - strip.From) / float64(len(strip.Tracks[0].Values))
		for _, track := range strip.Tracks {
			switch track.Name {
			case "waiting for input":
				for i, v := range track.Values {
					if v != nil && math.Abs(*v-c.wait/c.period) > 1e-3 {
						t.Fatalf("column %d waits %v of the time, want %v", i, *v, c.wait/c.period)
					}
				}
			case "throughput":
				sum := 0.0
				for _, v := range track.Values {
					sum += *v * width
				}
				// The last step ends after the last recorded event, and counts in the last column
				// only as far as it is inside.
				if want := 8 * 199.0; math.Abs(sum-want) > 8*1.01 {
					t.Errorf("%v samples in all, want %v", sum, want)
				}
			}
		}
	}
}

// The row of the device has the line above which it is at work nearly all the time, and no other row has.
func TestGoalLine(t *testing.T) {
	run := steady(200, 0.02, 0.005)
	device := recording.Series{Signal: recording.GPUKernels, Subject: "gpu/0"}
	for at := 0.0; at <= run.End(); at += 0.1 {
		device.T, device.V = append(device.T, at), append(device.V, 0.6)
	}
	run.Facts.GPUs, run.Series = []recording.GPU{{Name: "NVIDIA H100 80GB HBM3"}}, append(run.Series, device)
	page, _ := pageOf(t, subjectOf(run))
	if n := strings.Count(page, `class="goal"`); n != 1 || !strings.Contains(page, "is the goal") {
		t.Errorf("%d rows have the line", n)
	}
}

// In print what is folded is open, but for the JSON: each other fold is one that the style opens.
func TestFoldsAreOpenInPrint(t *testing.T) {
	page, _ := pageOf(t, subjectOf(steady(200, 0.02, 0.005)))
	_, print, _ := strings.Cut(page, "@media print")
	print, _, _ = strings.Cut(print, "</style>")
	if !strings.Contains(print, "details:not(:has(#json))::details-content") {
		t.Error("the style for print opens no fold")
	}
	for _, fold := range strings.Split(page, "<details")[1:] {
		fold, _, _ = strings.Cut(fold, "</details>")
		if strings.Contains(fold, "JSON</summary>") != strings.Contains(fold, `id="json"`) {
			t.Errorf("a fold that the style takes for another: %.80s", fold)
		}
	}
}

// The sliders hold the law's own forecasts: as it is is exactly 1, and the fix that
// is advised has the worth that its card names.
func TestWhatIfMatchesModel(t *testing.T) {
	run, err := recording.Open("../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if os.IsNotExist(err) {
		run, err = recording.Open("../../testdata/cases/labelled-too-few-workers/run.jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := subjectOf(run)
	_, d := pageOf(t, s)
	w := d.WhatIf
	if w == nil {
		t.Fatal("no table")
	}
	now := w.Rows[w.Now[0]][w.Now[1]]
	if *now.Point != 1 || *now.Low != 1 || *now.High != 1 {
		t.Errorf("as it is is worth %v (%v to %v)", *now.Point, *now.Low, *now.High)
	}
	checked := false
	for _, f := range s.Plan.Fixes {
		if len(f.Changes) != 1 || f.Changes[0].Setting != stoker.NumWorkers {
			continue
		}
		for i, n := range w.Workers {
			if n == f.Changes[0].To {
				checked = true
				if got := *w.Rows[i][w.Now[1]].Point; math.Abs(got-f.Forecast.Speedup.Point) > 5e-4 {
					t.Errorf("the slider says %v, the card %v", got, f.Forecast.Speedup.Point)
				}
			}
		}
	}
	if !checked {
		t.Error("the advised number of workers is not in the table: nothing was compared")
	}
}

// A server has no workers of a loader to change.
func TestNoWhatIfWithoutALoader(t *testing.T) {
	run, err := recording.Open("../../testdata/cases/server-preprocessing/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	if text, d := pageOf(t, subjectOf(run)); d.WhatIf != nil || strings.Contains(text, "num_workers") {
		t.Errorf("the page of a server asks for workers of a DataLoader: %+v", d.WhatIf)
	}
}

// The sliders promise what the plan promises, and offer no number of workers that would give
// other samples to train on.
func TestSlidersPromiseWhatThePlanDoes(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cases/*/run.jsonl*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	compared := 0
	for _, file := range files {
		run, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		s := subjectOf(run)
		_, data := pageOf(t, s)
		if data.WhatIf == nil {
			continue
		}
		for _, fix := range s.Plan.Fixes {
			to, workers := 0, false
			if len(fix.Changes) == 1 && fix.Changes[0].Setting == stoker.NumWorkers {
				to, workers = fix.Changes[0].To.(int)
			}
			at := slices.Index(data.WhatIf.Workers, to)
			if !workers || at < 0 || data.WhatIf.Now[1] < 0 || !fix.Forecast.Speedup.Known() {
				continue
			}
			compared++
			if got := data.WhatIf.Rows[at][data.WhatIf.Now[1]].Point; got == nil || math.Abs(*got-fix.Forecast.Speedup.Point) > 1e-3 {
				t.Errorf("%s: %d workers are worth %v by the sliders and %v by the plan", file, to, got, fix.Forecast.Speedup)
			}
		}
		for _, n := range data.WhatIf.Workers {
			l := s.Verdict.Grounds.Loader
			if why := l.Alters(stoker.Change{Setting: stoker.NumWorkers, To: n}); why != "" {
				t.Errorf("%s: the sliders offer %d workers: %s", file, n, why)
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d promises were compared", compared)
	}
}
