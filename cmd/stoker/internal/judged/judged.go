// Package judged finds, opens and judges the recordings that arguments name.
package judged

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

// Folder is where recordings are written and searched.
const Folder = "stoker-runs"

// FindNewest returns the newest recording in the current folder's stoker-runs.
func FindNewest() (string, error) {
	files := ListNewest(Folder)
	if len(files) == 0 {
		return "", fmt.Errorf(
			"find recording: none in %s/ here: name a file, or record one: stoker observe -- python train.py",
			Folder)
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

// Recording is a recording with its verdict and plan.
type Recording struct {
	Path    string
	Run     *recording.Run
	Verdict diagnose.Verdict
	Plan    advise.Plan
}

// Open reads and judges a recording: the named one, the newest if there are no arguments, or stdin
// if the name is "-".
func Open(a *cli.App, args []string) (Recording, error) {
	var path string
	var err error
	if len(args) > 0 {
		path = args[0]
	} else if path, err = FindNewest(); err != nil {
		return Recording{}, err
	}
	next := a.NewProgress().During("reading " + path)
	defer next("")
	run, err := Read(a, path)
	if err != nil {
		return Recording{Path: path}, err
	}
	next("judging " + path)
	return Judge(path, run), nil
}

// Read reads a recording, or stdin if the name is "-".
func Read(a *cli.App, path string) (*recording.Run, error) {
	if path != "-" {
		return recording.Open(path)
	}
	run, err := recording.Read(a.Stdin)
	if err != nil {
		return nil, fmt.Errorf("read recording from stdin: %w", err)
	}
	return run, nil
}

// Judge judges a run. path is the name of its recording.
func Judge(path string, run *recording.Run) Recording {
	j := Recording{Path: path, Run: run}
	j.Verdict = JoinTraces(context.Background(), path, run, judge.Judge(run)).Verdict
	j.Plan = advise.Rank(run, j.Verdict)
	return j
}

// CompareAll compares runs with runs before them, and with the forecast for the changes between
// the two.
func CompareAll(before, after []Recording) verify.Outcome {
	runs := func(side []Recording) (all []*recording.Run) {
		for _, j := range side {
			all = append(all, j.Run)
		}
		return all
	}
	was, now := runs(before), runs(after)
	o := verify.CompareAll(was, now, ForecastPromise(was[0], verify.Changes(was[0], now[0])))
	o.Was, o.Now = string(before[0].Verdict.Headline()), string(after[0].Verdict.Headline())
	if o.Refused == "" && o.Work == "" && o.Basis != verify.PerRequest && o.Basis != verify.PerAnswer {
		o.Run = verify.CompareRuns(before[0].Verdict, after[0].Verdict)
	}
	return o
}

// FindFiles returns the files that arguments name; a folder means all recordings in it. Notes are
// sentences about entries of a folder that are not regular files.
func FindFiles(args []string) (files []string, folder bool, notes []string, err error) {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		l, err := List(arg)
		if err != nil {
			return nil, false, nil, err
		}
		if notes = append(notes, l.Notes()...); len(l.Names) == 0 {
			none := strings.Join(append([]string{"list recordings: none in " + arg}, notes...), ", ")
			return nil, false, nil, errors.New(none + " (name a recording, or write one: stoker observe -- python train.py)")
		}
		files, folder = append(files, l.In(arg)...), true
	}
	return files, folder, notes, nil
}

// ListForecasts returns the forecasts of a plan for other tools.
func ListForecasts(plan advise.Plan) []export.Forecast {
	var all []export.Forecast
	for _, f := range plan.Fixes {
		all = append(all, export.Forecast{Fix: f.Name, Speedup: f.Forecast.Speedup})
	}
	return all
}

// MostNotes is how many sentences about unreadable files are printed.
const MostNotes = 20

// ForecastPromise returns the forecast for these changes by the run before; an unknown one if
// nothing was changed.
func ForecastPromise(before *recording.Run, changes []stoker.Change) predict.Forecast {
	if len(changes) == 0 {
		return predict.Forecast{Speedup: stoker.Unknown()}
	}
	return measure.From(before).Forecast(changes...)
}
