package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// The first thing to do precedes all figures. If no GPU is visible, that is to find it, no
// matter what would help the run otherwise.
func TestWhatToDoFirst(t *testing.T) {
	for name, want := range map[string]string{
		"feed-before":    "use stoker.DataLoader in place of PyTorch's, in the DataLoader of train.py:136: 3.49x faster (2.68 to 3.60)\n  run      stoker advise --emit torch",
		"heavy-getitem":  "find the GPU first: none is visible to this program",
		"request-server": "if it is asked: faster input changes nothing, give this GPU more requests",
	} {
		run, err := recording.Open("../../testdata/cases/" + name + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		v := judge.Judge(run)
		var shown bytes.Buffer
		if err := WriteVerdict(&shown, run, v, advise.Rank(run, v), Style{Width: 1000}); err != nil {
			t.Fatal(err)
		}
		first, _, found := strings.Cut(shown.String(), "\n  device ")
		if !found || !strings.Contains(first, "\n  next     "+want) {
			t.Errorf("%s:\n%s", name, first)
		}
	}
}

// A page with a single recommendation prints it once.
func TestAdviceAppearsOnce(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Model: &recording.ModelFacts{Device: "cpu", Steps: 4}}}
	v := judge.Judge(run)
	var shown bytes.Buffer
	if err := WriteVerdict(&shown, run, v, advise.Rank(run, v), Style{Width: 1000}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(shown.String(), "find the GPU first"); n != 1 || !strings.Contains(shown.String(), "how much that gains is unknown here") {
		t.Errorf("%d times:\n%s", n, shown.String())
	}
}

// A page has 40 lines at most and names the command for the rest, which is more. --all has all
// that the page has, and a page that leaves nothing out names no command.
func TestPagesHaveFortyLines(t *testing.T) {
	var s section
	for range 50 {
		s.add(useful, func(p *page) { p.printWrapped("  - ", "    ", "the launching thread waits") })
	}
	short, whole := newVerdictPage(Style{}), newVerdictPage(Style{All: true})
	short.show([]section{s, {title: "last", items: []item{{always, func(p *page) { p.writeRow("hung", "yes") }}}}}, "stoker diagnose --all")
	whole.show([]section{s}, "stoker diagnose --all")
	if n := strings.Count(short.b.String(), "\n"); n != mostLines || !strings.HasSuffix(short.b.String(), "\nmore: stoker diagnose --all\n") || !strings.Contains(short.b.String(), "last\n  hung ") {
		t.Errorf("%d lines:\n%s", n, short.b.String())
	}
	if text := whole.b.String(); strings.Count(text, "  - ") != 50 || strings.Contains(text, "more:") {
		t.Errorf("not all of it:\n%s", text)
	}
	for name, text := range map[string]string{"short": short.b.String(), "whole": whole.b.String()} {
		if n := strings.Count(text, "(the thread of the program"); n != 1 {
			t.Errorf("%s: the launching thread is explained %d times", name, n)
		}
	}
}

// What the other side of a change is has words, too.
func TestChangesInWords(t *testing.T) {
	for want, c := range map[string]stoker.Change{
		"use stoker.DataLoader in place of PyTorch's":                                 {Setting: stoker.LoaderKind, To: stoker.StokerLoader},
		"use PyTorch's DataLoader in place of stoker's":                               {Setting: stoker.LoaderKind, From: stoker.StokerLoader},
		"read what only logs need, as the loss, every 50 steps instead of every step": {Setting: stoker.SyncEvery, From: 1, To: 50},
		"take the waits for the device out of the step":                               {Setting: stoker.SyncEvery, To: 0},
		"serve the data set from memory":                                              {Setting: stoker.StorageKind, From: "as found", To: stoker.PageCache},
		"num_workers 1 -> 2":                                                          {Setting: stoker.NumWorkers, From: 1, To: 2},
		"persistent_workers=true":                                                     {Setting: stoker.PersistentWorkers, To: true},
	} {
		if got := report.SayChange(c); got != want {
			t.Errorf("%v: %q, want %q", c, got, want)
		}
	}
	waits := advise.Fix{Name: string(stoker.SyncEvery), Changes: []stoker.Change{{Setting: stoker.SyncEvery, To: 50}}, Lossless: true}
	if got := report.SayChanges(waits); got != "wait for the device every 50 steps instead of every step, if the step does not need the result" {
		t.Errorf("of a program that does not train: %q", got)
	}
}

// A finding that has no room is named where it is about much of the window.
func TestFindingsWithoutRoomAreNamed(t *testing.T) {
	r := report.TraceReport{}
	for i, name := range []string{"pageable-copies", "device-wait", "explicit-sync"} {
		r.Verdict.Findings = append(r.Verdict.Findings,
			diagnose.Finding{Name: name, Share: []float64{0.172, 0.18, 0.002}[i], Text: strings.Repeat("word ", 300)})
	}
	p := newVerdictPage(Style{})
	for range mostLines - 14 {
		p.writeRow("row", "text")
	}
	p.show([]section{p.places(r)}, "stoker trace --all")
	got := p.b.String()
	if n := strings.Count(got, "\n"); n > mostLines || !strings.Contains(got, "  also device-wait (18 % of the window)\n") ||
		strings.Contains(got, "explicit-sync") || !strings.Contains(got, "1. pageable-copies") {
		t.Errorf("%d lines:\n%s", n, got)
	}
}
