package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report"
)

// predictFlags are the texts that a person gave; "" is not given.
type predictFlags struct {
	gpu, gpus, model, precision, software, batch, tokens, side, step string
	data, sample, decoded                                            string
	workers, cores, prepare, cpu, spread, handOver                   string
	storage, access, reads, latency, cached, dataset, memory, link   string
	inference, pinned, recompute                                     bool
	nodes, network, shard, measured, like                            string

	ownFlags
	priceFlags
	target, hours                        string
	checkpoint, mtbf                     string
	hardware, out, list                  string
	roofline, walls, tutorial, json, csv bool
	sources                              bool
}

func (f *predictFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.gpu, "gpu", "", "GPU by key or by the driver's name (--list gpus)")
	fs.StringVar(&f.gpus, "gpus", "", "GPUs that train together (default 1)")
	fs.StringVar(&f.model, "model", "", "network (--list models)")
	f.ownFlags.register(fs)
	fs.BoolVar(&f.inference, "inference", false, "forward passes only; else training")
	fs.StringVar(&f.precision, "precision", "", "fp32, tf32, fp16, bf16, fp8, int8; unnamed means the whole spread")
	fs.StringVar(&f.software, "software", "", "eager, channels-last, compiled, engine; unnamed means the whole spread")
	fs.StringVar(&f.shard, "shard", "", "what the GPUs that train together share: zero1 (optimiser), zero2 (gradients too), zero3 (weights too; fsdp)")
	fs.BoolVar(&f.recompute, "recompute", false, "training computes activations again in the backward pass instead of keeping them")
	fs.StringVar(&f.nodes, "nodes", "", "machines that share the GPUs evenly; cores and storage are those of one (default 1)")
	fs.StringVar(&f.network, "network", "", "network between machines (--list networks) or its rate per machine, one direction")
	fs.StringVar(&f.batch, "batch", "", "samples per step and GPU")
	fs.StringVar(&f.tokens, "tokens", "", "tokens per sample, where samples are sequences")
	fs.StringVar(&f.side, "side", "", "pixels or voxels along a side of a sample, where samples have sides")
	fs.StringVar(&f.step, "step", "", "the device's time for a step, where you know it: 103ms")
	fs.StringVar(&f.measured, "measured", "", "a measured step of the same program, carried over to what is asked: '2,470 samples/s at batch 256 on a100-80gb-sxm'")
	fs.StringVar(&f.like, "like", "", "a recording whose measured step, without its waits, is carried over")
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
	fs.StringVar(&f.access, "access", "", "how samples lie there: files (one each) or sequential (shards); default: as --data usually does")
	fs.StringVar(&f.reads, "reads", "", "reads/s that a machine's storage answers: 5500")
	fs.StringVar(&f.latency, "latency", "", "time until it has answered one read, for which a worker waits: 150ms")
	fs.StringVar(&f.dataset, "dataset", "", "stored size of the data set, to be held against --memory: 150GB")
	fs.StringVar(&f.memory, "memory", "", "memory of a machine that is left to keep samples in: 400GB")
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
	fs.StringVar(&f.checkpoint, "checkpoint", "", "for --walls: rate at which a checkpoint is written")
	fs.StringVar(&f.mtbf, "mtbf", "", "for --walls: mean time between failures of the job: 24h")
	fs.StringVarP(&f.out, "out", "o", "", "write a page (FILE.html), or draw a sweep or roofline (FILE.svg)")
	fs.BoolVar(&f.sources, "sources", false, "say where every figure comes from, and how each part is computed")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	fs.BoolVar(&f.csv, "csv", false, "print rows of comma-separated values")
}

// described is a setup with where each part of it comes from.
type described struct {
	predict.Setup
	inputs []report.Input
	axes   []predict.Axis
	named  []string       // words of the title
	usual  predict.Access // how samples lie in storage
}

func (d *described) note(name, value, source string) {
	d.inputs = append(d.inputs, report.Input{Name: name, Value: value, Source: source})
}

const given = report.Given

// setup reads the flags. An error names the flag.
func (f *predictFlags) setup(cmd *cobra.Command, table hardware.Table) (*described, error) {
	d := &described{Setup: predict.Setup{Workers: math.NaN(), Cores: math.NaN(), Pinned: f.pinned}}
	measured, err := f.readMeasured(table)
	if err != nil {
		return nil, err
	}
	for _, read := range []func(*described, hardware.Table) error{f.readLoad, f.readRanks, f.readData, f.readHost, f.readSupply} {
		if err := read(d, table); err != nil {
			return nil, err
		}
	}
	if err := f.readAxes(d, cmd, table); err != nil {
		return nil, err
	}
	if err := d.checkMachines(); err != nil {
		return nil, err
	}
	if d.Batch == 0 && !f.roofline {
		return nil, errors.New("--batch is missing: how many samples does a step take on each GPU?")
	}
	return d, d.carry(measured)
}

// mostGPUs of one machine: NVIDIA's HGX-2 and AWS's p2.16xlarge have 16, no machine of
// the table has more.
const mostGPUs = 16

// checkMachines asks how many machines there are where one cannot have all GPUs: cores
// and storage are those of one, and would be shared by all.
func (d *described) checkMachines() error {
	gpus := []float64{max(1, d.GPUs)}
	for _, axis := range d.axes {
		if axis.Name == "gpus" {
			gpus = axis.Values
		}
	}
	nodes := max(1, d.Nodes)
	for _, n := range gpus {
		if n/nodes > mostGPUs {
			return fmt.Errorf("--gpus %.0f on %.0f machine(s): expected at most %d on each, since --cores and --storage are those of one machine; say how many machines there are: --nodes %.0f", n, nodes, mostGPUs, math.Ceil(n/8))
		}
		if math.Mod(n, nodes) != 0 {
			return fmt.Errorf("--gpus %.0f and --nodes %.0f: expected as many GPUs on each machine", n, nodes)
		}
	}
	return nil
}

// readLoad is what the device is asked to do.
func (f *predictFlags) readLoad(d *described, table hardware.Table) (err error) {
	d.Load.Training = !f.inference
	if f.given() {
		err = f.readOwn(d)
	} else if f.model != "" {
		err = f.readModel(d)
	}
	if err != nil {
		return err
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
		d.noteGPU()
	}
	if f.step != "" {
		step, err := quantity("step", f.step, stoker.ParseSeconds)
		if err != nil {
			return err
		}
		d.Step = stoker.Exactly(float64(step))
		d.note("step", step.String(), given)
	}
	if f.describes() {
		d.name(f)
	}
	return nil
}

// readRanks is who trains together, and what they share.
func (f *predictFlags) readRanks(d *described, table hardware.Table) (err error) {
	d.Load.Recompute = f.recompute
	if f.recompute {
		d.note("recompute", "activations", given)
	}
	if d.Load.Shard, err = shardOf(f.shard); err != nil {
		return err
	}
	if f.shard != "" {
		d.note("shard", string(d.Load.Shard), given)
	}
	if f.network == "" {
		return nil
	}
	row, known := table.Network(f.network)
	if !known {
		rate, err := rateOf("network", f.network, table.NetworkNames())
		if err != nil {
			return err
		}
		row.Rate = hardware.Figure{Value: float64(rate), Source: given}
	}
	d.Network = stoker.Exactly(row.Rate.Value)
	d.note("network", strings.TrimSpace(row.Title+" "+stoker.AboutRate(row.Rate.Value)), row.Rate.Source)
	return nil
}

func shardOf(text string) (predict.Shard, error) {
	switch s := predict.Shard(strings.ToLower(text)); {
	case s == predict.NoShard || slices.Contains(predict.Shards, s):
		return s, nil
	case s == "fsdp":
		return predict.ZeRO3, nil
	}
	return "", fmt.Errorf("--shard %q: expected %s, %s, %s or fsdp; leave it out for a copy on each GPU", text, predict.ZeRO1, predict.ZeRO2, predict.ZeRO3)
}

// noteGPU lists what the device can do in the precision.
func (d *described) noteGPU() {
	gpu, p := d.Load.GPU, d.Load.Precision
	memory := "memory " + stoker.AboutRate(nanOf(gpu.MemoryRate.Value))
	if p == predict.AnyPrecision {
		d.note("gpu", gpu.Title+", "+memory, or(gpu.MemoryRate.Source, given))
		return
	}
	peak := gpu.Peak(p)
	d.note("gpu", fmt.Sprintf("%s, %s in %s, %s", gpu.Title, stoker.AboutFLOPs(nanOf(peak.Value)), p, memory), or(peak.Source, given))
}

// name is the title's beginning.
func (d *described) name(f *predictFlags) {
	kind := "training"
	if f.inference {
		kind = "inference"
	}
	d.named = append(d.named, d.Load.Workload.Title, kind)
	if d.Load.Precision == predict.AnyPrecision {
		d.note("precision", "unnamed: from 16 bits to what PyTorch takes by itself", "--precision narrows it")
	} else {
		d.named = append(d.named, string(d.Load.Precision))
		d.note("precision", string(d.Load.Precision), given)
	}
	if d.Load.Software == predict.AnySoftware {
		d.note("software", "unnamed: the whole spread of public measurements", "--software narrows it")
		return
	}
	d.named = append(d.named, string(d.Load.Software))
	d.note("software", string(d.Load.Software), given)
}

// roomier is what to ask for instead where a batch has no room, as flags.
func roomier(err error) string {
	var memory *predict.MemoryError
	if !errors.As(err, &memory) {
		return ""
	}
	if memory.Largest >= 1 {
		return fmt.Sprintf("--batch %.0f", memory.Largest)
	}
	shard, recompute := memory.Remedy()
	switch {
	case shard != predict.NoShard:
		return "--shard " + string(shard) + " --gpus 8 --recompute"
	case recompute:
		return "--recompute"
	}
	return ""
}

// shared is how the title says what is shared and recomputed.
func (d *described) shared() (words []string) {
	if d.Load.Shard != predict.NoShard {
		words = append(words, string(d.Load.Shard))
	}
	if d.Load.Recompute {
		words = append(words, "recomputed")
	}
	return words
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
	}{{"batch", f.batch, &d.Batch, false}, {"gpus", f.gpus, &d.GPUs, false}, {"nodes", f.nodes, &d.Nodes, false}, {"workers", f.workers, &d.Workers, true}} {
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
	if err := f.readStorage(d, table); err != nil {
		return err
	}
	if err := f.readCached(d); err != nil {
		return err
	}
	kind, source := "pageable", "PyTorch's default; --pinned"
	if f.pinned {
		kind, source = "pinned", given
	}
	d.note("memory", kind, source)
	return f.readLink(d, table)
}

// readStorage is what storage delivers: all that is known of a class, or a rate, which
// is then what it delivers of such samples.
func (f *predictFlags) readStorage(d *described, table hardware.Table) error {
	access, err := f.accessOf(d)
	if err != nil {
		return err
	}
	d.usual = access
	if text := f.single("storage", f.storage); text != "" && text != unknownWord {
		row, known := table.Storage(text)
		if !known {
			rate, err := rateOf("storage", text, table.StorageNames())
			if err != nil {
				return err
			}
			access, row = predict.Sequential, hardware.Storage{Rate: hardware.Figure{Value: float64(rate), Source: given}}
		}
		d.Setup = d.WithStorage(row, access)
		d.noteStorage(row, access)
	} else if !isRange(f.storage) {
		d.Setup = d.WithStorage(hardware.Storage{}, access)
	}
	for _, q := range []struct {
		flag, text string
		to         *stoker.Interval
		read       func(string) (float64, error)
		show       func(float64) string
	}{
		{"reads", f.reads, &d.Reads, func(text string) (float64, error) {
			v, err := quantity("reads", text, stoker.ParseNumber)
			return float64(v), err
		}, stoker.About},
		{"latency", f.latency, &d.Latency, func(text string) (float64, error) {
			v, err := quantity("latency", text, stoker.ParseSeconds)
			return float64(v), err
		}, stoker.AboutSeconds},
	} {
		if q.text == "" {
			continue
		}
		v, err := q.read(q.text)
		if err != nil {
			return err
		}
		*q.to = stoker.Exactly(v)
		if d.PerFile == (stoker.Interval{}) {
			d.PerFile = stoker.Exactly(1) // whoever gives it reads one by one
		}
		d.note(q.flag, q.show(v), given)
	}
	return nil
}

func (d *described) noteStorage(row hardware.Storage, access predict.Access) {
	d.note("storage", strings.TrimSpace(row.Title+" "+stoker.AboutRate(nanOf(row.Rate.Value))), row.Rate.Source)
	if access != predict.Files {
		return
	}
	d.note("reads", stoker.About(nanOf(row.IOPS.Value))+" reads/s", or(row.IOPS.Source, "not in the table; --reads"))
	d.note("latency", stoker.AboutSeconds(nanOf(row.Latency.Value)), or(row.Latency.Source, "not in the table; --latency"))
}

// accessOf is how samples lie in storage: as given, else as the kind of data usually
// does, else a file each.
func (f *predictFlags) accessOf(d *described) (predict.Access, error) {
	usual := predict.Files
	if profile, err := f.profile(&described{Setup: d.Setup}); err == nil && profile.Access != "" {
		usual = profile.Access
	}
	access := predict.Access(f.access)
	if access == "" {
		return usual, nil
	}
	if access == predict.Files || access == predict.Sequential {
		d.note("access", f.access, given)
		return access, nil
	}
	return "", fmt.Errorf("--access %q: expected %s (one for each sample) or %s (shards, or one large file)", f.access, predict.Files, predict.Sequential)
}

// readCached is the share of the data set that lies in memory: given, or what memory
// there is over what a data set takes.
func (f *predictFlags) readCached(d *described) error {
	if text := f.single("cached", f.cached); text != "" {
		if f.dataset != "" || f.memory != "" {
			return errors.New("--cached and --dataset with --memory say the same in two ways: give one")
		}
		v, err := stoker.ParseShare(text)
		if err != nil {
			return fmt.Errorf("--cached: %w", err)
		}
		d.Cached = float64(v)
		d.note("cached", v.String(), given)
		return nil
	}
	if f.dataset == "" && f.memory == "" {
		return nil
	}
	if f.dataset == "" || f.memory == "" {
		return errors.New("--dataset and --memory go together: what the samples take in storage, and the memory of a machine that is left to keep them")
	}
	size, err := quantity("dataset", f.dataset, stoker.ParseBytes)
	if err != nil {
		return err
	}
	memory, err := quantity("memory", f.memory, stoker.ParseBytes)
	if err != nil {
		return err
	}
	d.Cached = math.Min(1, float64(memory)/float64(size))
	d.note("cached", fmt.Sprintf("%s of %s in %s of memory", stoker.Percent(d.Cached), size, memory), given)
	return nil
}

func (f *predictFlags) readLink(d *described, table hardware.Table) error {
	name := or(f.link, d.Load.GPU.Link)
	if name == "" {
		return nil
	}
	link, known := table.Link(name)
	if !known {
		if f.link == "" {
			return unknownName("link", name, table.LinkNames())
		}
		rate, err := rateOf("link", name, table.LinkNames())
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

func precisionOf(text string) (hardware.Precision, error) {
	switch p := hardware.Precision(strings.ToLower(text)); {
	case p == "":
		return predict.AnyPrecision, nil
	case p == "amp": // torch.autocast's default on CUDA
		return hardware.FP16, nil
	case slices.Contains(hardware.Precisions, p):
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
	words := append(append([]string{}, d.named...), d.shared()...)
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
