// Package runs is the verb that lists all runs of a folder and manages their files.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/summary"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// orders are the possible orders of jobs, by the value of --sort.
var orders = map[string]func(a, b report.Job) int{
	"lost":  func(a, b report.Job) int { return cmp.Or(most(a.Lost, b.Lost), most(a.Idle, b.Idle)) },
	"when":  func(a, b report.Job) int { return most(a.Started, b.Started) },
	"stall": func(a, b report.Job) int { return most(a.Stall, b.Stall) },
	"rate":  func(a, b report.Job) int { return most(a.Rate, b.Rate) },
	"host":  func(a, b report.Job) int { return slices.Compare(a.Hosts, b.Hosts) },
	"class": func(a, b report.Job) int { return strings.Compare(a.Class, b.Class) },
}

// most compares numbers so that the largest comes first and unknown ones last.
func most(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return cmp.Compare(b, a) // NaN is less than any number
	}
	return cmp.Compare(b, a)
}

// Command makes the command stoker runs.
func Command(a *cli.App) *cobra.Command {
	var asJSON, asCSV bool
	var order string
	var top int
	var prices cost.Flags
	cmd := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "List all runs: what each lost, what that costs, what helps",
		Long: `List the jobs of a folder (default: stoker-runs) with what bound each, what its GPUs lost by idling and
the best fix, then the sum of each month. check, trim and merge look after the files.`,
		Example: `  stoker runs
  stoker runs --price '$2.10/h' --sort when /shared/stoker-runs
  stoker runs check stoker-runs/*.jsonl.gz         are the files whole`,
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, known := orders[order]
			if !known {
				return cli.AsUsage(fmt.Errorf("--sort %q: expected lost, when, stall, rate, host or class", order))
			}
			own, err := prices.ReadOwn()
			if err != nil {
				return err
			}
			a.Began = true
			folder := judged.Folder
			if len(args) > 0 {
				folder = args[0]
			}
			found, notes, err := summarise(cmd.Context(), a, folder)
			if err != nil {
				return err
			}
			list := groupJobs(folder, found, notes, own)
			slices.SortStableFunc(list.Jobs, by)
			if asCSV { // CSV has no place for notes
				for _, note := range list.Notes {
					a.Say("%s", note)
				}
			}
			switch {
			case asJSON:
				return wire.WriteRuns(a.Stdout, list)
			case asCSV:
				return wire.WriteRunsCSV(a.Stdout, list)
			}
			return text.WriteRuns(a.Stdout, list, top, a.TextStyle(a.Stdout))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print a row of comma-separated values per job")
	cmd.Flags().StringVar(&order, "sort", "lost", "`ORDER`: lost, when, stall, rate, host, class")
	cmd.Flags().IntVar(&top, "top", 50, "show `N` jobs (0: all)")
	prices.Register(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	cmd.AddCommand(checkCommand(a), trimCommand(a), mergeCommand(a))
	cli.SetGroups(cmd,
		cli.Section{Title: "Answer", Names: "sort top json csv"},
		cli.Section{Title: "Cost", Names: cost.FlagNames},
	)
	return cmd
}

// summarise returns a short verdict on each recording of a folder, in order of name, and sentences
// about recordings that cannot be read.
func summarise(ctx context.Context, a *cli.App, folder string) (found []summary.Summary, notes []string, err error) {
	l, err := judged.ListTuned(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, hint.Attach(
			fmt.Errorf("list %s: there is no such folder", folder),
			"name the folder of the recordings: stoker runs FOLDER (stoker observe makes stoker-runs)",
		)
	} else if err != nil {
		return nil, nil, err
	}
	debug.SetGCPercent(400) // with the default, garbage collection takes a quarter of the time
	kept := summary.OpenCache(folder)
	var files []*summary.Summary
	for _, name := range l.Names {
		if s := kept.FindSummary(name); s != nil {
			files = append(files, s)
		}
	}
	concludeAll(ctx, a, folder, files, kept)
	notes = l.Notes()
	for _, s := range files {
		if s.Why != "" {
			notes = append(notes, s.Why)
			continue
		}
		found = append(found, *s)
	}
	if left := len(notes) - judged.MostNotes; left > 0 {
		notes = append(notes[:judged.MostNotes], fmt.Sprintf("and %d more that cannot be read", left))
	}
	return found, notes, nil
}

// saveEvery is after how many recordings the cache is saved, so that Ctrl-C loses no more than these.
const saveEvery = 1000

// concludeAll judges the new recordings, on all cores, and saves the verdicts in the cache.
func concludeAll(ctx context.Context, a *cli.App, folder string, files []*summary.Summary, kept *summary.Cache) {
	todo := slices.DeleteFunc(slices.Clone(files), func(s *summary.Summary) bool { return s.Known })
	p := a.NewProgress()
	defer p.End()
	for from := 0; from < len(todo) && ctx.Err() == nil; from += saveEvery {
		part := todo[from:min(from+saveEvery, len(todo))]
		var all sync.WaitGroup
		next := make(chan *summary.Summary)
		for range min(runtime.GOMAXPROCS(0), len(part)) {
			all.Go(func() {
				for s := range next {
					s.Conclude(filepath.Join(folder, s.Name))
				}
			})
		}
		for i, s := range part {
			p.Say("reading recording %d of %d that are new", from+i+1, len(todo))
			next <- s
		}
		close(next)
		all.Wait()
		kept.Save(ctx, files)
	}
}

// groupJobs groups recordings into jobs, at the user's prices.
func groupJobs(folder string, found []summary.Summary, notes []string, own predict.Prices) report.Runs {
	list := report.Runs{Folder: folder, Recordings: len(found), Notes: notes}
	months := map[string]*report.Month{}
	emulated := 0
	for _, group := range jobsOf(found) {
		job := group.addUp(own)
		list.Jobs = append(list.Jobs, job)
		if job.Emulated {
			emulated++
		}
		name := job.StartMonth()
		if months[name] == nil {
			months[name] = &report.Month{Name: name}
		}
		months[name].Add(job)
	}
	for _, m := range months {
		list.Months = append(list.Months, *m)
	}
	slices.SortFunc(list.Months, func(a, b report.Month) int { return strings.Compare(a.Name, b.Name) })
	if emulated > 0 {
		list.Notes = append(list.Notes,
			fmt.Sprintf("the device of %d job(s) was an emulated one: what a real one would have lost", emulated))
	}
	return list
}
