// Command accuracy says how often a verdict is right, on simulated jobs whose class an
// intervention in the simulator decides: the resource whose relief raises throughput most.
//
//	go run ./bench/accuracy                    # 50 test jobs of each class, and RESULTS.md
//	go run ./bench/accuracy -set tune -misses  # the jobs that rules may be mended on
//	go run ./bench/accuracy -draws 3 -check    # for CI: no page, exit 1 below the bars
//
// Each job is written as a recording, once for each of five sights of it, and judged as by stoker
// diagnose. Verdicts are kept in a file (-kept), so that an interrupted exam continues with the same
// binary.
//
// Its jobs are simulated. bench/labelled has real processes.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
)

func main() {
	set := flag.String("set", "test", "seeds: tune or test")
	draws := flag.Int("draws", 50, "jobs of each class")
	only := flag.String("only", "", "one class")
	kept := flag.String("kept", "stoker-runs/accuracy.jsonl", "what was judged; a file that is not there is begun")
	page := flag.String("o", "bench/accuracy/RESULTS.md", "page to write, of the test set")
	check := flag.Bool("check", false, "exit 1 below the bars, and write no page")
	misses := flag.Bool("misses", false, "print each wrong verdict")
	keep := flag.String("keep", "", "write the recording of the last of -draws of the class -only as `FILE`, with all signals, and end")
	flag.Parse()
	if *keep != "" {
		if err := keepRecording(*set, diagnose.Class(*only), *draws-1, *keep); err != nil {
			fmt.Fprintln(os.Stderr, "accuracy: error:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*set, *draws, *only, *kept, *page, *check, *misses); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy: error:", err)
		os.Exit(1)
	}
}

func run(set string, draws int, only, kept, page string, check, misses bool) error {
	if set != "tune" && set != "test" {
		return fmt.Errorf("-set %q: expected tune or test", set)
	}
	e, err := openExam(kept)
	if err != nil {
		return err
	}
	defer func() { _ = e.file.Close() }()
	for _, class := range classes {
		for draw := range draws {
			if only != "" && string(class) != only {
				continue
			}
			if err := e.sit(set, class, draw); err != nil {
				return fmt.Errorf("%s, draw %d of %s: %w", set, draw, class, err)
			}
		}
	}
	if misses {
		for _, p := range e.papers {
			if !p.right() {
				fmt.Printf("%-24s %3d  %-22s gain %.2f: %s\n", p.Class, p.Draw, p.Sight, p.Gain, p.Said)
			}
		}
	}
	fmt.Print(summarize(e.papers))
	if set == "tune" {
		fmt.Print(countForConfidence(e.papers))
	}
	if check {
		return holdBars(e.papers)
	}
	if set == "test" && only == "" {
		return os.WriteFile(page, []byte(results(e.papers, draws)), 0o644) //nolint:gosec // for everybody
	}
	return nil
}

// keepRecording writes the recording of one job, for testdata/cases.
func keepRecording(set string, class diagnose.Class, draw int, path string) error {
	j, _ := drawJob(seed(set, class, draw, "job"), class)
	return writeRecording(playJob(j), sights[0], seed(set, class, draw, sights[0].Name), path)
}

// exam is the papers of one call, and what earlier calls kept.
type exam struct {
	binary string
	known  map[string]paper
	papers []paper
	file   *os.File
	folder string
}

func openExam(kept string) (*exam, error) {
	e := &exam{known: map[string]paper{}}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(own) //nolint:gosec // our own binary
	if err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(code)
	e.binary = fmt.Sprintf("%016x", sum.Sum64())
	e.folder = "/dev/shm" // a writer flushes to disk, and most of the exam's time would go there
	if info, err := os.Stat(e.folder); err != nil || !info.IsDir() {
		e.folder = filepath.Dir(kept)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(kept) //nolint:gosec // the user's own file
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var p paper
		if json.Unmarshal([]byte(line), &p) == nil { // a torn last line is judged again
			e.known[p.key()] = p
		}
	}
	e.file, err = os.OpenFile(kept, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // likewise
	return e, err
}

// sit draws one job and judges each sight of it.
func (e *exam) sit(set string, class diagnose.Class, draw int) error {
	var p *played
	gain := math.NaN()
	for _, s := range sights {
		one := paper{Binary: e.binary, Set: set, Class: class, Draw: draw, Sight: s.Name}
		if had, found := e.known[one.key()]; found {
			e.papers = append(e.papers, had)
			continue
		}
		if p == nil {
			j, g := drawJob(seed(set, class, draw, "job"), class)
			played := playJob(j)
			p, gain = &played, g
		}
		if err := e.judge(&one, *p, s, gain); err != nil {
			return err
		}
		e.papers = append(e.papers, one)
	}
	return nil
}

// judge records one sight of a job, judges it and keeps the verdict.
func (e *exam) judge(one *paper, p played, s sight, gain float64) error {
	path := filepath.Join(e.folder, fmt.Sprintf("accuracy-%d.jsonl.gz", os.Getpid()))
	run, err := record(p, s, seed(one.Set, one.Class, one.Draw, s.Name), path)
	if err != nil {
		return err
	}
	v := judge.Judge(run)
	one.Said, one.Gain = v.Class, orZero(gain)
	one.Lead = v.Scores[0].Value - v.Scores[1].Value
	for _, f := range v.Findings {
		if slices.Contains([]string{"sawtooth", "steadily-low", "spikes", "drops"}, f.Name) {
			one.Pattern = f.Name
		}
	}
	if !one.right() {
		a, b := v.Scores[0], v.Scores[1]
		one.Scores = fmt.Sprintf("%s %.2f, %s %.2f", a.Class, a.Value, b.Class, b.Value)
	}
	one.Confidence, one.Blind = orZero(v.Confidence), cannotTell(one.Class, p.job, s)
	if p.training && !p.onCPU {
		one.Util = orZero(p.busyShare(lasting/2, lasting))
	}
	one.Busy = orZero(v.Costs.CoresUse / p.cores)
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	_, err = e.file.Write(append(line, '\n'))
	return err
}

func orZero(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// seed returns the dice of a draw. Draws of tune and test differ.
func seed(parts ...any) dice {
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, parts...)
	return dice{rand.New(rand.NewPCG(sum.Sum64(), 35))} //nolint:gosec // no secret
}
