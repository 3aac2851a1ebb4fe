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
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/plot"
)

func (a *app) predict() *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "Say what a job needs from storage and CPU, without any run",
		Long: `Say what rate a job's GPU asks for, what its input path delivers, which part binds, which comes
next, what would close the gap and what idling costs: from the hardware table, public measurements
and what you know. No run is needed; what you do not know stays unknown, and the answer says what
it would have to be.

Quantities have units: 110KB, 2GB/s, 11.74ms, 95%. A range makes a sweep, over one or two of --batch,
--workers, --cores, --sample, --storage, --prepare, --gpus, --cached:
  32..1024   doubling        1..8:1   in steps of 1        0..64/4   4 equal steps        1,2,4   these`,
		Example: `  stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme
  stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme --for 95%
  stoker predict --gpu h100-sxm --model resnet50 --batch 32..1024 --sample 110KB --workers 8 --cores 16 --storage nvme
  stoker predict --gpu a100-80gb-sxm --model resnet50 --batch 64..512 --workers 1..32 --cores 32 --storage nvme -o sweep.svg
  stoker predict --batch 256 --step 103ms --sample 110KB --cpu 250MB/s --storage 1.2GB/s
  stoker predict --gpu h100-sxm --flops 8.18GFLOP --bytes 89MB --params 25.6M --layers 53 --family convnet --batch 256
  stoker predict --model resnet50 --measured '2,470 samples/s at batch 256 on a100-80gb-sxm' --gpu h100-sxm --batch 512
  stoker predict --model resnet50 --like stoker-runs/RUN.jsonl.gz --precision bf16
  stoker predict --gpu h100-sxm --roofline -o roofline.svg
  stoker predict --tutorial
  stoker predict --list gpus`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.foretell(cmd, f) },
	}
	f.register(cmd)
	cmd.AddCommand(a.predictTransformation(), a.predictData())
	return cmd
}

// foretell is the verb: it chooses the question and shows the answer.
func (a *app) foretell(cmd *cobra.Command, f *predictFlags) error {
	if cmd.Flags().NFlag() == 0 {
		return usageError{errors.New("predict needs to know what runs where: --gpu, --model and --batch, or --step and --batch; for example stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme")}
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	if f.tutorial {
		a.began = true
		return a.tutorial(f)
	}
	table, err := hardwareTable(f.hardware)
	if err != nil {
		return usageError{err}
	}
	if f.list != "" {
		return a.list(f, table)
	}
	p, words, err := f.ask(cmd, table)
	if err != nil {
		return usageError{err}
	}
	a.began = true
	if f.out != "" {
		if err := draw(cmd.Context(), f.out, words, p); err != nil {
			return err
		}
		a.say("%s is written", f.out)
	}
	return a.show(f, p)
}

// check refuses what cannot go together, before any work.
func (f *predictFlags) check() error {
	asked := 0
	for _, is := range []bool{f.tutorial, f.list != "", f.roofline} {
		if is {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("--tutorial, --list and --roofline are different questions: ask one")
	}
	if f.json && f.csv {
		return errors.New("--json and --csv: choose one")
	}
	if f.out == "" {
		return nil
	}
	if f.tutorial || f.list != "" {
		return errors.New("-o draws a sweep or a roofline, not --tutorial or --list")
	}
	if err := plot.Check(f.out); err != nil && !isPage(f.out) {
		return fmt.Errorf("-o %w; or in .html for a page", err)
	}
	return nil
}

// isPage reports whether a file is to be a page.
func isPage(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".html") }

// ask solves what the flags ask.
func (f *predictFlags) ask(cmd *cobra.Command, table hardware.Table) (report.Prediction, plot.Words, error) {
	s, err := f.setup(cmd, table)
	if err != nil {
		return report.Prediction{}, plot.Words{}, err
	}
	p := report.Prediction{Setup: s.Setup, Inputs: s.inputs, Axes: s.axes, Title: s.title(), Sources: f.sources}
	switch {
	case f.roofline:
		err = f.askRoofline(s, &p)
	case len(s.axes) > 0:
		err = f.askSweep(s, &p)
	default:
		err = f.askOne(s, table, &p)
	}
	return p, plot.Words{Title: p.Title, Source: sources(p)}, err
}

// askOne solves one setting and all that was asked about it.
func (f *predictFlags) askOne(s *described, table hardware.Table, p *report.Prediction) error {
	if f.out != "" && !isPage(f.out) {
		return errors.New("-o FILE.svg draws a sweep or a roofline: give one or two settings a range (--batch 32..1024), or add --roofline; -o FILE.html writes a page of one setting, too")
	}
	var err error
	if p.Answer, err = s.Solve(); err != nil {
		return err
	}
	if err := f.askFirst(s, p); err != nil {
		return err
	}
	if f.target != "" {
		if p.Sizing, err = f.size(s); err != nil {
			return err
		}
	}
	if f.walls {
		cluster, err := f.cluster()
		if err != nil {
			return err
		}
		if p.Walls, err = s.Walls(cluster); err != nil {
			return err
		}
	}
	return f.waste(s, table, p)
}

// askFirst solves the first epoch, where later ones find a part of the data set in
// memory.
func (f *predictFlags) askFirst(s *described, p *report.Prediction) error {
	if f.cached == "" && f.dataset == "" || s.Cached == 0 {
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
	if f.target != "" || f.walls {
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
	case f.json:
		return report.PredictJSON(a.stdout, p)
	case f.csv:
		return report.PredictCSV(a.stdout, p)
	}
	return report.PredictText(a.stdout, p, a.style(a.stdout))
}

func (a *app) tutorial(f *predictFlags) error {
	lessons := predict.Tutorial()
	switch {
	case f.json:
		return report.TutorialJSON(a.stdout, lessons)
	case f.csv:
		return report.TutorialCSV(a.stdout, lessons)
	}
	return report.TutorialText(a.stdout, lessons, a.style(a.stdout))
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
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, 2<<20))
}

// draw writes a picture beside its place and moves it there, so that no half
// picture is ever seen.
func draw(ctx context.Context, name string, words plot.Words, p report.Prediction) error {
	var b bytes.Buffer
	var err error
	switch r := p.Roofline; {
	case r != nil:
		err = plot.Roofline(&b, words, *r)
	case len(p.Points) > 0:
		err = plot.Sweep(&b, words, p.Axes, p.Points)
	default: // a page of one setting: where its load lies below the device's roofs, if that is known
		if roof, unknown := p.Setup.Roofline(); unknown == nil {
			err = plot.Roofline(&b, words, roof)
		}
	}
	if err != nil {
		return err
	}
	return writeFiles(ctx, output{name, toOthers, func(w io.Writer) error {
		if isPage(name) {
			return report.PredictHTML(w, p, version, b.String())
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
	return strings.Join(all, "; ")
}
