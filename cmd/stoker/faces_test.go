package main

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/report/text"
)

// facesOf returns all texts about a judged run at a width.
func facesOf(t *testing.T, j judged.Recording, width int) map[string]string {
	t.Helper()
	style := text.Style{Width: width, All: true}
	var shown, explain, plan bytes.Buffer
	for _, err := range []error{
		text.WriteVerdict(&shown, j.Run, j.Verdict, j.Plan, style), text.Explain(&explain, j.Verdict, style), text.WritePlan(&plan, j.Run, j.Verdict, j.Plan, style),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"diagnose": shown.String(), "diagnose --explain": explain.String(), "advise": plan.String()}
}

// Every output about every case fits into 80 columns without breaking a word: a wide page has the
// same words.
func TestFacesAreEightyColumnsWide(t *testing.T) {
	for _, file := range clitest.CaseFiles(t, "run.jsonl*") {
		j, err := judged.Open(&cli.App{}, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		if v := j.Verdict; math.IsNaN(v.Idle) && v.RunnerUp.Is(diagnose.GPUBound) {
			t.Errorf("%s: %s is said to be near, and no device could be read", file, v.RunnerUp)
		}
		wide := facesOf(t, j, 120)
		for face, text := range facesOf(t, j, 80) {
			fits(t, face+" "+file, text)
			if !slices.Equal(strings.Fields(text), strings.Fields(wide[face])) {
				t.Errorf("%s %s: the words of 80 columns are others than those of 120", face, file)
			}
		}
	}
	style := text.Style{Width: 80}
	for _, file := range clitest.CaseFiles(t, "run.jsonl*") {
		j, err := judged.Open(&cli.App{}, []string{file})
		var shown bytes.Buffer
		if err := errors.Join(err, text.WriteVerdict(&shown, j.Run, j.Verdict, j.Plan, style)); err != nil {
			t.Fatal(err)
		}
		fits(t, "diagnose "+file, shown.String())
		if n := strings.Count(shown.String(), "\n"); n > mostPrinted {
			t.Errorf("diagnose %s prints %d lines of 80 columns", file, n)
		}
	}
	const before, after = "../../testdata/cases/feed-before/run.jsonl.gz", "../../testdata/cases/feed-after/run.jsonl.gz"
	others := [][]string{
		{"verify", before, after},
		{"diagnose", "--list"},
		{"trace", "../../testdata/cases/trace-two-ranks"},
		strings.Fields("predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme --for 95%"),
	}
	for _, file := range clitest.CaseFiles(t, "trace.json*") {
		others = append(others, []string{"trace", file}, []string{"trace", "--all", file})
	}
	t.Setenv("COLUMNS", "80")
	for _, args := range others {
		code, out, errs := call(t, args...)
		if code != cli.ExitFine {
			t.Fatalf("%v ends with %d: %s", args, code, errs)
		}
		fits(t, strings.Join(args, " "), out)
	}
}

// badNumber matches what no page may contain: numbers with too many digits, and NaN or Inf.
var badNumber = regexp.MustCompile(`\b0\.0000+\d*|\d\.\d{5,}|\bNaN\b|\bInf\b|\d[eE][-+]\d\d`)

// oneOfMany matches the number 1 with a plural.
var oneOfMany = regexp.MustCompile(`(?:^|[\s(])1 (?:warm-up )?(?:steps|workers|batches|processes|processors|epochs|threads|ranks|events|copies|files|launches|collectives|signals|looks)\b`)

// fits reports lines of more than 80 columns, except those of a single word, such as a path, which
// cannot be broken.
func fits(t *testing.T, name, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(strings.TrimLeft(line, " -"))
		if n := utf8.RuneCountInString(line); n > 80 && len(words) > 1 {
			t.Errorf("%s: %d columns: %s", name, n, line)
		}
	}
	if found := oneOfMany.FindString(text); found != "" {
		t.Errorf("%s: prints %q", name, found)
	}
	if found := badNumber.FindString(text); found != "" {
		t.Errorf("%s: prints %q", name, found)
	}
}

// The used memory and the power of a GPU are printed next to its name.
func TestMemoryAndPowerOfAGPU(t *testing.T) {
	for file, want := range map[string]string{"../../testdata/cases/feed-before/run.jsonl.gz": ", power 152 W", clitest.LiveRun: ", memory 80 GB of 85.9 GB"} {
		if code, out, errs := call(t, "diagnose", file); code != cli.ExitFine || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, %q is not in: %s%s", file, code, want, out, errs)
		}
	}
}

// Lines on stderr of a running program are broken at the width of the terminal, and only there.
func TestLinesOnStderrAreWrapped(t *testing.T) {
	for _, width := range []int{0, 80} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		var errs bytes.Buffer
		a := &cli.App{Stderr: &errs}
		a.Say("%d s: %s", 17, "cpu-bound/main-thread-loader, the device waits for input 50.2 % of the time (provisional, 188 steps) [emulated device]")
		if lines := strings.Count(errs.String(), "\n"); (lines == 1) != (width == 0) {
			t.Errorf("COLUMNS=%d: %d lines: %s", width, lines, errs.String())
		} else if width > 0 {
			fits(t, "a line", errs.String())
		}
	}
}

// The first screen of a trace shows the first change with its risk, even if there is much else.
func TestFirstScreenShowsTheChange(t *testing.T) {
	for _, name := range []string{"made-pascal-launches", "made-recorded-frames", "trace-launches"} {
		file := "../../testdata/cases/" + name + "/trace.json.gz"
		if _, out, errs := call(t, "trace", file); !strings.Contains(out, "what to change\n  1. ") || !strings.Contains(out, "Risk:") {
			t.Errorf("%s: no change with its risk in\n%s%s", name, out, errs)
		}
	}
}
