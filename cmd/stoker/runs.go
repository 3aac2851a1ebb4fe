package main

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

	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// orders are what jobs can be sorted by, the first as it is without a word.
var orders = map[string]func(a, b report.Job) int{
	"lost":  func(a, b report.Job) int { return cmp.Or(most(a.Lost, b.Lost), most(a.Idle, b.Idle)) },
	"when":  func(a, b report.Job) int { return most(a.Started, b.Started) },
	"stall": func(a, b report.Job) int { return most(a.Stall, b.Stall) },
	"rate":  func(a, b report.Job) int { return most(a.Rate, b.Rate) },
	"host":  func(a, b report.Job) int { return slices.Compare(a.Hosts, b.Hosts) },
	"class": func(a, b report.Job) int { return strings.Compare(a.Class, b.Class) },
}

// most orders numbers from the largest to the smallest; what is unknown comes last.
func most(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return cmp.Compare(b, a) // NaN is less than any number
	}
	return cmp.Compare(b, a)
}

func (a *app) runsCommand() *cobra.Command {
	var asJSON, asCSV bool
	var order string
	var top int
	var prices priceFlags
	cmd := &cobra.Command{
		Use:   "runs [FOLDER]",
		Short: "List all runs: what each lost, what that costs, what helps",
		Long: `List the jobs of a folder (default: stoker-runs) with what bound each, what its GPUs lost by idling and
the best fix, then the sum of each month. check, trim and merge look after the files.`,
		Example: `  stoker runs
  stoker runs --price '$2.10/h' --sort when /shared/stoker-runs
  stoker runs check stoker-runs/*.jsonl.gz         are the files whole`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, known := orders[order]
			if !known {
				return asUsage(fmt.Errorf("--sort %q: expected lost, when, stall, rate, host or class", order))
			}
			own, err := prices.own()
			if err != nil {
				return err
			}
			a.began = true
			folder := runsFolder
			if len(args) > 0 {
				folder = args[0]
			}
			found, notes, err := a.summaries(cmd.Context(), folder)
			if err != nil {
				return err
			}
			list := listed(folder, found, notes, own)
			slices.SortStableFunc(list.Jobs, by)
			if asCSV { // which has no place for them
				for _, note := range list.Notes {
					a.say("%s", note)
				}
			}
			switch {
			case asJSON:
				return wire.WriteRuns(a.stdout, list)
			case asCSV:
				return wire.WriteRunsCSV(a.stdout, list)
			}
			return text.WriteRuns(a.stdout, list, top, a.textStyle(a.stdout))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print a row of comma-separated values per job")
	cmd.Flags().StringVar(&order, "sort", "lost", "`ORDER`: lost, when, stall, rate, host, class")
	cmd.Flags().IntVar(&top, "top", 50, "show `N` jobs (0: all)")
	prices.register(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	cmd.AddCommand(a.runsCheckCommand(), a.runsTrimCommand(), a.runsMergeCommand())
	setGroups(cmd,
		section{"Answer", "sort top json csv"},
		section{"Cost", costFlags},
	)
	return cmd
}

// summaries are what is concluded of each recording of a folder, in order of name, and
// sentences about those that cannot be read.
func (a *app) summaries(ctx context.Context, folder string) (found []summary, notes []string, err error) {
	l, err := listTuned(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, hint.Add(
			fmt.Errorf("list %s: there is no such folder", folder),
			"name the folder of the recordings: stoker runs FOLDER (stoker observe makes stoker-runs)",
		)
	} else if err != nil {
		return nil, nil, err
	}
	debug.SetGCPercent(400) // a quarter of the time goes into collecting what each recording leaves
	kept := openCache(folder)
	var files []*summary
	for _, name := range l.names {
		if s := kept.keptSummary(name); s != nil {
			files = append(files, s)
		}
	}
	a.concludeAll(ctx, folder, files, kept)
	notes = l.notes()
	for _, s := range files {
		if s.Why != "" {
			notes = append(notes, s.Why)
			continue
		}
		found = append(found, *s)
	}
	if left := len(notes) - mostNotes; left > 0 {
		notes = append(notes[:mostNotes], fmt.Sprintf("and %d more that cannot be read", left))
	}
	return found, notes, nil
}

const (
	mostNotes = 20
	saveEvery = 1000 // recordings judged, after which they are kept: Ctrl-C loses no more
)

// concludeAll judges what is new, on all cores, and keeps it.
func (a *app) concludeAll(ctx context.Context, folder string, files []*summary, kept *cache) {
	todo := slices.DeleteFunc(slices.Clone(files), func(s *summary) bool { return s.known })
	p := a.newProgress()
	defer p.end()
	for from := 0; from < len(todo) && ctx.Err() == nil; from += saveEvery {
		part := todo[from:min(from+saveEvery, len(todo))]
		var all sync.WaitGroup
		next := make(chan *summary)
		for range min(runtime.GOMAXPROCS(0), len(part)) {
			all.Go(func() {
				for s := range next {
					s.conclude(filepath.Join(folder, s.Name))
				}
			})
		}
		for i, s := range part {
			p.say("reading recording %d of %d that are new", from+i+1, len(todo))
			next <- s
		}
		close(next)
		all.Wait()
		kept.save(ctx, files)
	}
}

// conclude reads and judges a recording.
func (s *summary) conclude(path string) {
	defer func() {
		if fault := recover(); fault != nil {
			s.Why = fmt.Sprintf("judge recording %s: a fault of stoker's own, please report it: %v", path, fault)
		}
	}()
	run, err := recording.Open(path)
	if err != nil {
		s.Why = err.Error()
		return
	}
	s.takeFrom(judgeRun(path, run))
}

// takeFrom takes what runs needs of what was concluded.
func (s *summary) takeFrom(j judgedRecording) {
	run, f, v := j.run, j.run.Facts, j.verdict
	s.Started, s.Seconds, s.Command, s.Job, s.Host, s.Emulated = f.Started, run.End(), strings.Join(f.Command,
		" "), f.Job, f.Host, run.Emulated()
	devices := map[int]bool{}
	for _, p := range f.Processes {
		if p.Role != recording.RoleTrainer {
			continue
		}
		// a script's short helpers have none of their own
		if s.World = max(s.World, p.World); !slices.Contains(s.Ranks, p.Rank) {
			s.Ranks = append(s.Ranks, p.Rank)
		}
		if p.Device >= 0 {
			devices[p.Device] = true
		}
	}
	if s.Devices = len(devices); s.Devices == 0 {
		s.Devices = min(1, len(f.GPUs))
	}
	s.Class, s.Stall, s.Share = string(v.Headline()), stat.Known(v.Stall), stat.Known(v.Cost.Share)
	s.Rate = stat.Known(v.Costs.Rate() * float64(max(1, len(s.Ranks))))
	s.Watts = [3]*float64{stat.Known(v.Cost.Watts.Low), stat.Known(v.Cost.Watts.Point), stat.Known(v.Cost.Watts.High)}
	s.Prices = [4]*float64{
		stat.Known(v.Cost.Prices.GPUHour), stat.Known(v.Cost.Prices.KWh),
		stat.Known(v.Cost.Prices.Grid), stat.Known(v.Cost.Prices.PUE),
	}
	if v.Ending.Failed() {
		s.Ended = v.Ending.String()
	}
	if len(j.plan.Fixes) > 0 {
		best := j.plan.Fixes[0]
		s.Fix = best.Title
		s.Speedup, s.AtMost = stat.Known(best.Forecast.Speedup.Point), stat.Known(best.Forecast.Speedup.High)
	}
}

// listed makes jobs of recordings, at a user's prices.
func listed(folder string, found []summary, notes []string, own predict.Prices) report.Runs {
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
