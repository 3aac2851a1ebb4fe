package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

// runsFolder is where recordings go and are looked for.
const runsFolder = "stoker-runs"

// newest is the newest recording in the current folder's stoker-runs.
func newest() (string, error) {
	files := recordings(runsFolder)
	if len(files) == 0 {
		return "", fmt.Errorf(
			"find recording: none in %s/ here: name a file, or record one: stoker observe -- python train.py",
			runsFolder)
	}
	best, when := "", int64(math.MinInt64)
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && info.ModTime().UnixNano() > when {
			best, when = file, info.ModTime().UnixNano()
		}
	}
	return best, nil
}

// judgedRecording is a recording with all that is concluded from it.
type judgedRecording struct {
	path    string
	run     *recording.Run
	verdict diagnose.Verdict
	plan    advise.Plan
}

// judge opens a recording, the newest one where none is named, "-" being stdin, and judges
// it.
func (a *app) judge(args []string) (judgedRecording, error) {
	var path string
	var err error
	if len(args) > 0 {
		path = args[0]
	} else if path, err = newest(); err != nil {
		return judgedRecording{}, err
	}
	next := a.newProgress().during("reading " + path)
	defer next("")
	run, err := a.openRun(path)
	if err != nil {
		return judgedRecording{path: path}, err
	}
	next("judging " + path)
	return judgeRun(path, run), nil
}

// openRun reads a recording; of stdin, where it is named "-".
func (a *app) openRun(path string) (*recording.Run, error) {
	if path != "-" {
		return recording.Open(path)
	}
	run, err := recording.Read(a.stdin)
	if err != nil {
		return nil, fmt.Errorf("read recording from stdin: %w", err)
	}
	return run, nil
}

// judgeRun judges a recording that was read.
func judgeRun(path string, run *recording.Run) judgedRecording {
	j := judgedRecording{path: path, run: run}
	j.verdict = capturedOf(context.Background(), path, run, judge.Judge(run)).verdict
	j.plan = advise.Rank(run, j.verdict)
	return j
}

// compareAll is how runs compare with those before them, and with what had been promised
// for just what was changed.
func compareAll(before, after []judgedRecording) verify.Outcome {
	runs := func(side []judgedRecording) (all []*recording.Run) {
		for _, j := range side {
			all = append(all, j.run)
		}
		return all
	}
	was, now := runs(before), runs(after)
	o := verify.CompareAll(was, now, forecastPromise(was[0], verify.Changes(was[0], now[0])))
	o.Was, o.Now = string(before[0].verdict.Headline()), string(after[0].verdict.Headline())
	if o.Refused == "" && o.Work == "" {
		o.Run = verify.CompareRuns(before[0].verdict, after[0].verdict)
	}
	return o
}
