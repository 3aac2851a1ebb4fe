package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stoker"
	"stoker/hardware"
	"stoker/predict"
	"stoker/report"
)

// predictFlags are the texts that a person gave; "" is not given.
type predictFlags struct {
	gpu, gpus, model, precision, software, batch, tokens, side, step string
	data, sample, decoded                                            string
	workers, cores, prepare, cpu, spread, handOver                   string
	storage, cached, link                                            string
	inference, pinned                                                bool

	priceFlags
	target, hours                        string
	ranks, exchange, checkpoint, mtbf    string
	hardware, out, list                  string
	roofline, walls, tutorial, json, csv bool
	sources                              bool
}

func (f *predictFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.gpu, "gpu", "", "GPU by key or by the driver's name (--list gpus)")
	fs.StringVar(&f.gpus, "gpus", "", "GPUs that share this machine's cores and storage (default 1)")
	fs.StringVar(&f.model, "model", "", "network (--list models)")
	fs.BoolVar(&f.inference, "inference", false, "forward passes only; else training")
	fs.StringVar(&f.precision, "precision", "", "fp32, tf32, fp16 (or bf16), fp8, int8 (default fp16)")
	fs.StringVar(&f.software, "software", "", "eager, channels-last, compiled, engine; unnamed means the whole spread")
	fs.StringVar(&f.batch, "batch", "", "samples per step and GPU")
	fs.StringVar(&f.tokens, "tokens", "", "tokens per sample, where samples are sequences")
	fs.StringVar(&f.side, "side", "", "pixels or voxels along a side of a sample, where samples have sides")
	fs.StringVar(&f.step, "step", "", "the device's time for a step, where you know it: 103ms")
	fs.StringVar(&f.data, "data", "", "kind of data, fills in what you do not give (--list profiles; default: what the model usually reads)")
	fs.StringVar(&f.sample, "sample", "", "stored size of a sample: 110KB")
	fs.StringVar(&f.decoded, "decoded", "", "size of a sample as it is copied to the device: 602KB")
	fs.StringVar(&f.workers, "workers", "", "loader processes per GPU (num_workers); 0 loads in the training loop")
	fs.StringVar(&f.cores, "cores", "", "logical cores of the machine that the job may use")
	fs.StringVar(&f.prepare, "prepare", "", "core time to prepare a sample: 2.8ms")
	fs.StringVar(&f.cpu, "cpu", "", "instead of --prepare: what all workers of a GPU prepare together, stored bytes: 250MB/s")
	fs.StringVar(&f.spread, "spread", "", "coefficient of variation of --prepare from sample to sample: 0.5")
	fs.StringVar(&f.handOver, "hand-over", "", "time of the training process to collect a sample from a worker: 200us")
	fs.StringVar(&f.storage, "storage", "", "class of storage (--list storage) or its rate: nvme, 1.2GB/s")
	fs.StringVar(&f.cached, "cached", "", "share of the data set that lies in memory: 50%")
	fs.StringVar(&f.link, "link", "", "host link (--list links) or its rate (default: the GPU's)")
	fs.BoolVar(&f.pinned, "pinned", false, "batches are copied from page-locked memory (pin_memory=True)")
	fs.StringVar(&f.target, "for", "", "size workers, cores and rates for this utilisation: 95%")
	fs.BoolVar(&f.walls, "walls", false, "hold the job against each wall: memory to checkpoint")
	fs.BoolVar(&f.roofline, "roofline", false, "FLOP/s over FLOP per byte; of all models where none is named")
	fs.BoolVar(&f.tutorial, "tutorial", false, "the published data-wall tutorial, with our estimate beside each figure")
	fs.StringVar(&f.list, "list", "", "print a table with its sources: "+strings.Join(lists, ", "))
	fs.StringVar(&f.hardware, "hardware", "", "file with your own rows (default hardware.json in ~/.config/stoker, where it is)")
	f.priceFlags.register(fs)
	fs.StringVar(&f.hours, "hours", "", "GPU hours that the cost of idling is for (default a day of all GPUs)")
	fs.StringVar(&f.ranks, "ranks", "", "for --walls: data-parallel GPUs in all")
	fs.StringVar(&f.exchange, "exchange", "", "for --walls: rate between two ranks, one direction")
	fs.StringVar(&f.checkpoint, "checkpoint", "", "for --walls: rate at which a checkpoint is written")
	fs.StringVar(&f.mtbf, "mtbf", "", "for --walls: mean time between failures of the job: 24h")
	fs.StringVarP(&f.out, "out", "o", "", "draw a sweep or roofline: FILE.svg or FILE.png")
	fs.BoolVar(&f.sources, "sources", false, "say where every figure comes from, and how each part is computed")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.BoolVar(&f.csv, "csv", false, "print rows of comma-separated values")
}

// described is a setup with where each part of it comes from.
type described struct {
	predict.Setup
	inputs []report.Input
	axes   []predict.Axis
	named  []string // words of the title
}

func (d *described) note(name, value, source string) {
	d.inputs = append(d.inputs, report.Input{Name: name, Value: value, Source: source})
}

const given = report.Given

// setup reads the flags. An error names the flag.
func (f *predictFlags) setup(cmd *cobra.Command, table hardware.Table) (*described, error) {
	d := &described{Setup: predict.Setup{Workers: math.NaN(), Cores: math.NaN(), Pinned: f.pinned}}
	for _, read := range []func(*described, hardware.Table) error{f.readLoad, f.readData, f.readHost, f.readSupply} {
		if err := read(d, table); err != nil {
			return nil, err
		}
	}
	if err := f.readAxes(d, cmd, table); err != nil {
		return nil, err
	}
	if d.Batch == 0 && !f.roofline {
		return nil, errors.New("--batch is missing: how many samples does a step take on each GPU?")
	}
	return d, nil
}

// readLoad is what the device is asked to do.
func (f *predictFlags) readLoad(d *described, table hardware.Table) (err error) {
	d.Load.Training = !f.inference
	if f.model != "" {
		if err := f.readModel(d); err != nil {
			return err
		}
	}
	if d.Load.Precision, err = precisionOf(f.precision); err != nil {
		return err
	}
	if d.Load.Software, err = softwareOf(f.software); err != nil {
		return err
	}
	if f.gpu != "" {
		gpu, known := table.GPU(f.gpu)
		if !known {
			return unknownName("gpu", f.gpu, table.GPUNames())
		}
		d.Load.GPU = gpu
		peak := gpu.Peak(d.Load.Precision)
		d.note("gpu", fmt.Sprintf("%s, %s in %s, memory %s", gpu.Title, stoker.AboutFLOPs(nanOf(peak.Value)), d.Load.Precision, stoker.AboutRate(nanOf(gpu.MemoryRate.Value))), or(peak.Source, "given"))
	}
	if f.step != "" {
		step, err := quantity("step", f.step, stoker.ParseSeconds)
		if err != nil {
			return err
		}
		d.Step = stoker.Exactly(float64(step))
		d.note("step", step.String(), given)
	}
	if f.model != "" {
		d.name(f)
	}
	return nil
}

// name is the title's beginning.
func (d *described) name(f *predictFlags) {
	kind := "training"
	if f.inference {
		kind = "inference"
	}
	d.named = append(d.named, d.Load.Workload.Title, kind, string(d.Load.Precision))
	source := given
	if f.precision == "" {
		source = "assumed; --precision"
	}
	d.note("precision", string(d.Load.Precision), source)
	if d.Load.Software == predict.AnySoftware {
		d.note("software", "unnamed: the whole spread of public measurements", "--software narrows it")
		return
	}
	d.named = append(d.named, string(d.Load.Software))
	d.note("software", string(d.Load.Software), given)
}

func (f *predictFlags) readModel(d *described) error {
	w, known := predict.FindWorkload(f.model)
	if !known {
		return fmt.Errorf("--model %q is not in the table; nearest: %s; all: stoker predict --list models", f.model, strings.Join(predict.NearestWorkloads(f.model), ", "))
	}
	if f.tokens != "" {
		n, err := quantity("tokens", f.tokens, stoker.ParseCount)
		if err != nil {
			return err
		}
		if w.Tokens == 0 || w.Side > 0 {
			return fmt.Errorf("--tokens: samples of %s are no sequences of tokens", w.Title)
		}
		w = w.WithTokens(float64(n))
	}
	if f.side != "" {
		n, err := quantity("side", f.side, stoker.ParseCount)
		if err != nil {
			return err
		}
		if w.Side == 0 {
			return fmt.Errorf("--side: samples of %s have no sides", w.Title)
		}
		w = w.WithSide(float64(n))
	}
	d.Load.Workload = w
	return nil
}

// readData is what a sample is: as given, else of the kind of data.
func (f *predictFlags) readData(d *described, _ hardware.Table) error {
	profile, err := f.profile(d)
	if err != nil {
		return err
	}
	if profile.Access == predict.NoStorage {
		d.Cached = 1 // nothing is read
		profile.Stored = predict.Amount{}
	}
	if d.Sample, err = interval(d, "sample", f.single("sample", f.sample), stoker.ParseBytes, profile.Stored, stoker.AboutBytes); err != nil {
		return err
	}
	if d.Decoded, err = interval(d, "decoded", f.decoded, stoker.ParseBytes, profile.Decoded, stoker.AboutBytes); err != nil {
		return err
	}
	if f.cpu != "" {
		if f.prepare != "" {
			return errors.New("--cpu and --prepare say the same in two ways: give one")
		}
		d.PrepareRate, err = interval(d, "cpu", f.cpu, stoker.ParseRate, predict.Amount{}, stoker.AboutRate)
		return err
	}
	if d.PrepareCPU, err = interval(d, "prepare", f.single("prepare", f.prepare), stoker.ParseSeconds, profile.Prepare, stoker.AboutSeconds); err != nil {
		return err
	}
	if f.handOver != "" {
		if d.HandOver, err = interval(d, "hand-over", f.handOver, stoker.ParseSeconds, predict.Amount{}, stoker.AboutSeconds); err != nil {
			return err
		}
	}
	return f.readSpread(d, profile)
}

func (f *predictFlags) readSpread(d *described, profile predict.Profile) error {
	if f.spread == "" {
		if d.Spread = profile.Spread.Point; d.Spread > 0 {
			d.note("spread", stoker.About(d.Spread), profile.Spread.Source)
		}
		return nil
	}
	n, err := stoker.ParseNumber(f.spread)
	if err != nil {
		return fmt.Errorf("--spread: %w", err)
	}
	d.Spread = float64(n)
	d.note("spread", n.String(), given)
	return nil
}

// profile is the kind of data: named, else what the model usually reads.
func (f *predictFlags) profile(d *described) (predict.Profile, error) {
	name, source := f.data, given
	if name == "" {
		name, source = d.Load.Workload.Profile, "what "+d.Load.Workload.Title+" usually reads; --data"
	}
	if name == "" {
		return predict.Profile{}, nil
	}
	profile, known := predict.FindProfile(name)
	if !known {
		return predict.Profile{}, fmt.Errorf("--data %q is not in the table; nearest: %s; all: stoker predict --list profiles", name, strings.Join(predict.NearestProfiles(name), ", "))
	}
	if profile.PerToken && d.Load.Workload.Tokens == 0 {
		return predict.Profile{}, fmt.Errorf("--data %s is counted by the token: name a --model whose samples are sequences", profile.Name)
	}
	d.note("data", profile.Title, source)
	return profile.For(d.Load.Workload), nil
}

// readHost is processes and cores.
func (f *predictFlags) readHost(d *described, _ hardware.Table) error {
	for _, n := range []struct {
		flag, text string
		value      *float64
		zero       bool
	}{{"batch", f.batch, &d.Batch, false}, {"gpus", f.gpus, &d.GPUs, false}, {"workers", f.workers, &d.Workers, true}} {
		text := f.single(n.flag, n.text)
		if text == "" || text == unknownWord {
			continue
		}
		v, err := stoker.ParseCount(text)
		if err == nil && !n.zero {
			v, err = quantity(n.flag, text, stoker.ParseCount)
		} else if err != nil {
			err = fmt.Errorf("--%s: %w", n.flag, err)
		}
		if err != nil {
			return err
		}
		*n.value = float64(v)
		d.note(n.flag, v.String(), given)
	}
	if text := f.single("cores", f.cores); text != "" && text != unknownWord {
		v, err := quantity("cores", text, stoker.ParseNumber)
		if err != nil {
			return err
		}
		d.Cores = float64(v)
		d.note("cores", v.String(), given)
	}
	return nil
}

// readSupply is storage, cache and link.
func (f *predictFlags) readSupply(d *described, table hardware.Table) error {
	if text := f.single("storage", f.storage); text != "" && text != unknownWord {
		row, err := storageIn(table, text)
		if err != nil {
			return err
		}
		d.Storage = stoker.Exactly(row.Rate.Value)
		d.note("storage", strings.TrimSpace(row.Title+" "+stoker.AboutRate(row.Rate.Value)), row.Rate.Source)
	}
	if text := f.single("cached", f.cached); text != "" {
		v, err := stoker.ParseShare(text)
		if err != nil {
			return fmt.Errorf("--cached: %w", err)
		}
		d.Cached = float64(v)
		d.note("cached", v.String(), given)
	}
	kind, source := "pageable", "PyTorch's default; --pinned"
	if f.pinned {
		kind, source = "pinned", given
	}
	d.note("memory", kind, source)
	return f.readLink(d, table)
}

func (f *predictFlags) readLink(d *described, table hardware.Table) error {
	name := or(f.link, d.Load.GPU.Link)
	if name == "" {
		return nil
	}
	link, known := table.Link(name)
	if !known {
		if f.link == "" || !strings.ContainsAny(name[:1], "0123456789.-") {
			return unknownName("link", name, table.LinkNames())
		}
		rate, err := quantity("link", f.link, stoker.ParseRate)
		if err != nil {
			return err
		}
		figure := hardware.Figure{Value: float64(rate), Source: given}
		link = hardware.Link{Name: "given", Nominal: figure, Pinned: figure, Pageable: [2]hardware.Figure{figure, figure}}
	}
	d.Link = link
	d.note("link", link.Name, or(map[bool]string{true: given}[f.link != ""], "the GPU's"))
	return nil
}

// unknownWord says that nobody knows, where a kind of data would fill it in.
const unknownWord = "unknown"

// interval is a quantity as given, without doubt, else that of the kind of data.
func interval[Q interface {
	~float64
	fmt.Stringer
}](d *described, flag, text string, read func(string) (Q, error), usual predict.Amount, show func(float64) string,
) (stoker.Interval, error) {
	switch {
	case text == unknownWord:
		return stoker.Unknown(), nil
	case text != "":
		q, err := quantity(flag, text, read)
		if err == nil {
			d.note(flag, q.String(), given)
		}
		return stoker.Exactly(float64(q)), err
	case usual.Point > 0:
		d.note(flag, fmt.Sprintf("%s (%s to %s)", show(usual.Point), show(usual.Low), show(usual.High)), usual.Source)
		return usual.Interval, nil
	}
	return stoker.Interval{}, nil
}

// storageIn is a row of the table, or a rate.
func storageIn(table hardware.Table, text string) (hardware.Storage, error) {
	if row, known := table.Storage(text); known {
		return row, nil
	}
	if !strings.ContainsAny(text[:1], "0123456789.-") {
		return hardware.Storage{}, unknownName("storage", text, table.StorageNames())
	}
	rate, err := quantity("storage", text, stoker.ParseRate)
	return hardware.Storage{Rate: hardware.Figure{Value: float64(rate), Source: given}}, err
}

func precisionOf(text string) (hardware.Precision, error) {
	all := []hardware.Precision{hardware.FP32, hardware.TF32, hardware.FP16, hardware.FP8, hardware.INT8}
	switch p := hardware.Precision(strings.ToLower(text)); {
	case p == "" || p == "bf16" || p == "amp":
		return hardware.FP16, nil
	case slices.Contains(all, p):
		return p, nil
	}
	return "", fmt.Errorf("--precision %q: expected fp32, tf32, fp16, bf16, fp8 or int8", text)
}

func softwareOf(text string) (predict.Software, error) {
	all := []predict.Software{predict.Eager, predict.ChannelsLast, predict.Compiled, predict.Engine}
	switch s := predict.Software(strings.ToLower(text)); {
	case s == predict.AnySoftware || s == "any":
		return predict.AnySoftware, nil
	case slices.Contains(all, s):
		return s, nil
	}
	return "", fmt.Errorf("--software %q: expected %s, %s, %s or %s; leave it out for the whole spread", text, all[0], all[1], all[2], all[3])
}

// title names what is asked.
func (d *described) title() string {
	words := append([]string{}, d.named...)
	if d.Batch > 0 && !slices.ContainsFunc(d.axes, func(a predict.Axis) bool { return a.Name == "batch" }) {
		words = append(words, fmt.Sprintf("batch %.0f", d.Batch))
	}
	if len(words) == 0 {
		words = []string{"a job"}
	}
	text := strings.Join(words, ", ")
	if d.Load.GPU.Title != "" {
		text += " on "
		if d.GPUs > 1 {
			text += fmt.Sprintf("%.0f x ", d.GPUs)
		}
		text += d.Load.GPU.Title
	}
	for i, axis := range d.axes {
		text += []string{" over ", " and "}[i] + axis.Name
	}
	return text
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// nanOf takes 0, which is not known, as unknown.
func nanOf(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}
