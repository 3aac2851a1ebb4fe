package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/readable"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/report/plot"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

func (a *app) predictCommand() *cobra.Command {
	f := &predictFlags{say: a.say}
	cmd := &cobra.Command{
		Use:   "predict [RUN]",
		Short: "Forecast what a job needs, without any run",
		Long: `Say what data rate a GPU asks for, what storage, CPU and link deliver, which part binds, and what
idling costs. No run is needed, and what you leave out is reported as unknown. Of a recording, or of
a job whose --util is known, it says what another machine would bring.

Quantities have units (110KB, 2GB/s, 11.74ms, 95%). A range makes a sweep: 32..1024 doubles,
1..8:1 counts by 1, 0..64/4 has 4 equal steps, 1,2,4 is a list.`,
		Example: `  stoker predict --gpu h100 --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme
  stoker predict --util 40% --gpu a100 --to h100
  stoker predict stoker-runs/RUN.jsonl.gz --to h100 --workers 16`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || f.givenText("util") != "" && f.givenText("measured") == "" {
				return a.foretellWorth(cmd, f, strings.Join(args, ""))
			}
			return a.foretell(cmd, f)
		},
	}
	f.register(cmd)
	cmd.AddCommand(a.predictTrainCommand(), a.predictServeCommand(), a.predictFleetCommand(),
		a.predictTransformationCommand(), a.predictDataCommand())
	return cmd
}

// foretell is the verb: it chooses the question and shows the answer.
func (a *app) foretell(cmd *cobra.Command, f *predictFlags) error {
	if cmd.Flags().NFlag() == 0 {
		return usageError{hintedError{
			errors.New("predict needs to know the model and the machine: --gpu, --model and --batch, or --step and --batch"),
			"stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme",
		}}
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	if f.on("tutorial") {
		a.began = true
		return a.tutorial(f)
	}
	table, err := hardwareTable(f.givenText("hardware"))
	if err != nil {
		return usageError{err}
	}
	if f.givenText("list") != "" {
		return a.printTable(f, table)
	}
	p, words, err := f.ask(cmd, table)
	if err != nil {
		return usageError{err}
	}
	a.began = true
	if f.givenText("out") != "" {
		if err := draw(cmd.Context(), f.givenText("out"), words, p); err != nil {
			return err
		}
		a.say("%s is written", f.givenText("out"))
	}
	return a.show(f, p)
}

// check refuses what cannot go together, before any work.
func (f *predictFlags) check() error {
	asked := 0
	for _, is := range []bool{f.on("tutorial"), f.givenText("list") != "", f.on("roofline")} {
		if is {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("--tutorial, --list and --roofline are different questions: ask one")
	}
	if f.givenText("to") != "" {
		return errors.New("--to goes with a recording or with --util: on which GPU a new job runs --gpu says")
	}
	if f.on("json") && f.on("csv") {
		return errors.New("--json and --csv: choose one")
	}
	if f.givenText("out") == "" {
		return nil
	}
	if f.on("tutorial") || f.givenText("list") != "" {
		return errors.New("-o draws a sweep or a roofline, not --tutorial or --list")
	}
	if err := plot.CheckName(f.givenText("out")); err != nil && !isPage(f.givenText("out")) {
		return fmt.Errorf("-o %w, or in .html for a page", err)
	}
	return nil
}

// isPage reports whether a file is to be a page.
func isPage(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".html") }

// ask solves what the flags ask.
func (f *predictFlags) ask(cmd *cobra.Command, table hardware.Table) (report.Prediction, plot.Captions, error) {
	if b, err := f.readStorageBenchmark(); err == nil && b.State > 0 {
		p, err := f.askCheckpoint(b)
		return p, plot.Captions{Title: p.Title, Source: sources(p)}, err
	}
	s, err := f.readSetup(cmd, table)
	if err != nil {
		return report.Prediction{}, plot.Captions{}, err
	}
	p := report.Prediction{
		Setup: s.Setup, Inputs: s.inputs, Axes: s.axes, Title: s.title(), Sources: f.on("sources"),
		All: f.on("all") || f.on("sources"),
	}
	for _, flag := range append(strings.Fields(costFlags), "hours") {
		p.Costs = p.Costs || f.givenText(flag) != ""
	}
	switch {
	case f.on("roofline"):
		err = f.askRoofline(s, &p)
	case len(s.axes) > 0:
		err = f.askSweep(s, &p)
	default:
		err = f.askOne(s, table, &p)
	}
	return p, plot.Captions{Title: p.Title, Source: sources(p)}, err
}

// askOne solves one setting and all that was asked about it.
func (f *predictFlags) askOne(s *described, table hardware.Table, p *report.Prediction) error {
	if f.givenText("out") != "" && !isPage(f.givenText("out")) {
		return errors.New("-o FILE.svg draws a sweep or a roofline: give one or two settings a range (--batch " +
			"32..1024), or add --roofline. -o FILE.html writes a page of one setting, too")
	}
	var err error
	if p.Answer, err = s.Solve(); err != nil {
		return err
	}
	if note := s.emulatedStep(p.Answer); note != "" {
		p.Answer.Notes = append(p.Answer.Notes, note)
	}
	if err := f.askFirst(s, p); err != nil {
		return err
	}
	if f.givenText("for") != "" {
		if p.Sizing, err = f.size(s); err != nil {
			return err
		}
	}
	if f.on("walls") {
		cluster, err := f.readCluster()
		if err != nil {
			return err
		}
		if p.Walls, err = s.Walls(cluster); err != nil {
			return err
		}
	}
	return f.fillWaste(s, table, p)
}

// askFirst solves the first epoch, where later ones find a part of the data set in
// memory.
func (f *predictFlags) askFirst(s *described, p *report.Prediction) error {
	if f.givenText("cached") == "" && f.givenText("dataset") == "" || s.Cached == 0 {
		return nil
	}
	first := s.Setup
	first.Cached = 0
	a, err := first.Solve()
	p.First = &a
	return err
}

// mostPoints of a sweep are kept and shown.
const mostPoints = 1_000_000

func (f *predictFlags) askSweep(s *described, p *report.Prediction) error {
	if f.givenText("for") != "" || f.on("walls") {
		return errors.New("--for and --walls are about one setting: leave the range out")
	}
	n := 1
	for _, axis := range s.axes {
		n *= len(axis.Values)
	}
	if n > mostPoints {
		return fmt.Errorf("a sweep over %d settings: expected at most %d", n, mostPoints)
	}
	var err error
	if p.Answer, err = s.Solve(); err != nil {
		return err
	}
	p.Points = make([]predict.Point, 0, n)
	return predict.Sweep(s.Setup, s.axes, func(q predict.Point) { p.Points = append(p.Points, q) })
}

func (a *app) show(f *predictFlags, p report.Prediction) error {
	switch {
	case f.on("json"):
		return wire.WritePrediction(a.stdout, p)
	case f.on("csv"):
		return wire.WritePredictionCSV(a.stdout, p)
	}
	return text.WritePrediction(a.stdout, p, a.textStyle(a.stdout))
}

func (a *app) tutorial(f *predictFlags) error {
	lessons := tutorial.Tutorial()
	switch {
	case f.on("json"):
		return wire.WriteLessons(a.stdout, lessons)
	case f.on("csv"):
		return wire.WriteLessonsCSV(a.stdout, lessons)
	}
	return text.WriteLessons(a.stdout, lessons, a.textStyle(a.stdout))
}

// hardwareTable is the built-in table with the user's rows: those of a named
// file, else of hardware.json in the configuration folder where there is one.
func hardwareTable(named string) (hardware.Table, error) {
	name := named
	if name == "" {
		folder := os.Getenv("XDG_CONFIG_HOME")
		if home, err := os.UserHomeDir(); folder == "" && err == nil {
			folder = filepath.Join(home, ".config")
		}
		if folder == "" {
			return hardware.Known, nil
		}
		name = filepath.Join(folder, "stoker", "hardware.json")
	}
	data, err := readSmall(name)
	if errors.Is(err, os.ErrNotExist) && named == "" {
		return hardware.Known, nil
	}
	if err != nil {
		return hardware.Table{}, fmt.Errorf("read hardware rows: %w", err)
	}
	own, err := hardware.Parse(name, data)
	if err != nil {
		return hardware.Table{}, err
	}
	return hardware.Known.With(own), nil
}

// readSmall reads at most 2 MiB, so that a wrong name does not fill memory.
func readSmall(name string) ([]byte, error) {
	file, err := readable.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, 2<<20))
}

// draw writes a picture beside its place and moves it there, so that no half
// picture is ever seen.
func draw(ctx context.Context, name string, words plot.Captions, p report.Prediction) error {
	var b bytes.Buffer
	var err error
	switch r := p.Roofline; {
	case r != nil:
		err = plot.WriteRoofline(&b, words, *r)
	case len(p.Points) > 0:
		err = plot.WriteSweep(&b, words, p.Axes, p.Points)
	default: // a page of one setting: where its load lies below the device's roofs, if that is known
		if roof, unknown := p.Setup.DrawRoofline(); unknown == nil {
			err = plot.WriteRoofline(&b, words, roof)
		}
	}
	if err != nil {
		return err
	}
	return writeFiles(ctx, output{name, toOthers, func(w io.Writer) error {
		if isPage(name) {
			return page.WritePrediction(w, p, version, b.String())
		}
		_, err := b.WriteTo(w)
		return err
	}})
}

// sources is the line below a picture: the device first.
func sources(p report.Prediction) string {
	all := []string{"stoker " + version}
	add := func(text string) {
		if text != "" && text != given && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if p.Roofline != nil {
		add(p.Roofline.GPU.Peak(p.Roofline.Precision).Source)
		add(p.Roofline.GPU.MemoryRate.Source)
	}
	for _, s := range p.Answer.Stages {
		if s.Resource == stoker.GPU {
			add(s.Source)
		}
	}
	for _, in := range p.Inputs {
		if in.Name == "prepare" || in.Name == "storage" || in.Name == "sample" {
			add(in.Source)
		}
	}
	for _, s := range p.Answer.Stages {
		add(s.Source)
	}
	return strings.Join(all, ", ")
}
