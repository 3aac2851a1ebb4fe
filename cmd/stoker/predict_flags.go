package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// predictFlag is a row of the table: a flag of stoker predict, and what it does to
// the job that is described.
type predictFlag struct {
	flag  string
	short string // one letter
	unit  *unit  // how its text is read and printed; nil where it is a name, or several things
	help  string

	// set reads the flag into the job and notes where the value comes from; nil where
	// the flag is a question or belongs to another one.
	set func(*described, predictFlag) error
}

// predictTable is every flag in the order of the help.
var predictTable = slices.Concat([]predictFlag{
	{flag: "gpu", set: readGPU, help: "GPU by key or by the driver's name (--list gpus)"},
	{
		flag: "gpus", unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.GPUs }),
		help: "GPUs that train together (default 1)",
	},
	{flag: "model", set: readNetwork, help: "network (--list models)"},
}, ownNetwork, []predictFlag{
	{flag: "inference", unit: isSwitch, set: readKind, help: "forward passes only (default: training)"},
	{
		flag: "precision", set: readPrecision,
		help: "fp32, tf32, fp16, bf16, fp8, int8 (default: the whole spread)",
	},
	{
		flag: "software", set: readSoftware,
		help: "eager, channels-last, compiled, engine (default: the whole spread)",
	},
	{
		flag: "shard", set: readShard,
		help: "what the GPUs that train together share: zero1 (optimiser), zero2 (gradients too), zero3 (weights " +
			"too, as fsdp)",
	},
	{
		flag: "recompute", unit: isSwitch, set: readRecompute,
		help: "training computes activations again in the backward pass instead of keeping them",
	},
	{
		flag: "nodes", unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.Nodes }),
		help: "machines that share the GPUs evenly, each with --cores and --storage (default 1)",
	},
	{
		flag: "network", set: readConnection,
		help: "network between machines (--list networks) or its rate per machine, one direction",
	},
	{
		flag: "batch", unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.Batch }),
		help: "samples per step and GPU",
	},
	{flag: "tokens", unit: inCounts, help: "tokens per sample, for sequences"},
	{flag: "side", unit: inCounts, help: "pixels or voxels along a side of a sample"},
	{
		flag: "step", unit: inSeconds,
		set:  exactly(func(s *predict.Setup) *stoker.Interval { return &s.Step }),
		help: "the device's time for a step, if you know it: 103ms",
	},
	{flag: "measured", help: "a measured step of the same program, carried over to what is asked: " +
		"'2,470 samples/s at batch 256 on a100-80gb-sxm'"},
	{flag: "like", help: "a recording whose measured step, without its waits, is carried over"},
	{flag: "util", help: "share of the time for which a job's GPU computes: 40% (asks what that costs, and what would help)"},
	{flag: "to", help: "with RUN or --util: GPU to move the job to (default: the usual ones)"},
	{flag: "mlperf", help: "a workload of MLPerf Storage v2.0, fills in what you do not give: " +
		strings.Join(storageBenchmarkNames(), ", ")},
	{
		flag: "data", set: readKindOfData,
		help: "kind of data, fills in what you do not give (--list profiles, default: what the model usually reads)",
	},
	{
		flag: "sample", unit: inBytes, help: "stored size of a sample: 110KB",
		set: usually(func(d *described) (*stoker.Interval, predict.Amount) { return &d.Sample, d.data.Stored }),
	},
	{
		flag: "decoded", unit: inBytes, help: "size of a sample as it is copied to the device: 602KB",
		set: usually(func(d *described) (*stoker.Interval, predict.Amount) { return &d.Decoded, d.data.Decoded }),
	},
	{
		flag: "workers", unit: inCounts, set: readWorkers,
		help: "loader processes per GPU (num_workers, 0: load in the training loop)",
	},
	{
		flag: "cores", unit: inNumbers, set: countOf(func(s *predict.Setup) *float64 { return &s.Cores }),
		help: "logical cores of the machine that the job may use",
	},
	{flag: "prepare", unit: inSeconds, set: readPrepare, help: "core time to prepare a sample: 2.8ms"},
	{
		flag: "cpu", unit: inRates, set: readPrepareRate,
		help: "instead of --prepare: a processor whose cores were measured (--list cpus), or what all workers of a GPU " +
			"prepare together, stored bytes: 250MB/s",
	},
	{
		flag: "spread", unit: inNumbers, set: readSpread,
		help: "coefficient of variation of --prepare from sample to sample: 0.5",
	},
	{
		flag: "hand-over", unit: inSeconds, set: readHandOver,
		help: "time of the training process to collect a sample from a worker: 200us",
	},
	{
		flag: "storage", set: readStorage,
		help: "class of storage (--list storage) or its rate: nvme, 1.2GB/s",
	},
	{
		flag: "access", set: readAccess,
		help: "how samples lie there: files (one each) or sequential (shards), default: as --data usually does",
	},
	{
		flag: "reads", unit: inNumbers, help: "reads/s that a machine's storage answers: 5500",
		set: perRead(func(s *predict.Setup) *stoker.Interval { return &s.Reads }),
	},
	{
		flag: "latency", unit: inSeconds, help: "time until it has answered one read, while a worker waits: 150ms",
		set: perRead(func(s *predict.Setup) *stoker.Interval { return &s.Latency }),
	},
	{flag: "dataset", unit: inBytes, help: "stored size of the data set, to be held against --memory: 150GB"},
	{flag: "memory", unit: inBytes, help: "memory of a machine that is left to keep samples in: 400GB"},
	{flag: "cached", set: readCached, help: "share of the data set that lies in memory: 50%"},
	{
		flag: "link", set: readLink,
		help: "host link (--list links) or its rate (default: the GPU's), gds if the device reads by itself",
	},
	{
		flag: "pinned", unit: isSwitch, set: readPinned,
		help: "batches are copied from page-locked memory (pin_memory=True)",
	},
	{flag: "for", help: "size workers, cores and rates for this utilisation: 95%"},
	{flag: "walls", unit: isSwitch, help: "hold the job against each wall: memory to checkpoint"},
	{flag: "roofline", unit: isSwitch, help: "FLOP/s over FLOP per byte (default: of all models)"},
	{
		flag: "tutorial", unit: isSwitch,
		help: "the published data-wall tutorial, with our estimate beside each figure",
	},
	{flag: "list", help: "print a table with its sources: " + strings.Join(lists, ", ")},
	{
		flag: "hardware",
		help: "file with your own rows (default ~/.config/stoker/hardware.json, if it exists)",
	},
}, priceTable, []predictFlag{
	{
		flag: "hours", unit: inNumbers,
		help: "GPU hours that the cost of idling is for (default a day of all GPUs)",
	},
	{flag: "checkpoint", unit: inRates, help: "for --walls: rate at which a checkpoint is written"},
	{flag: "mtbf", unit: inSeconds, help: "for --walls: mean time between failures of the job: 24h"},
	{flag: "out", short: "o", help: "write a page (FILE.html), or draw a sweep or roofline (FILE.svg)"},
	{flag: "all", unit: isSwitch, help: "print every part of the path, what idling costs, and what would change the answer"},
	{flag: "sources", unit: isSwitch, help: "name the source of every figure, and how each part is computed"},
	{flag: "json", unit: isSwitch, help: "print one JSON object"},
	{flag: "csv", unit: isSwitch, help: "print rows of comma-separated values"},
})

// ownNetwork describes a network that is not in the table.
var ownNetwork = []predictFlag{
	{flag: "flops", unit: inFLOP, help: "instead of --model: FLOP of one sample's forward pass, 2 per " +
		"multiply-add: 8.18GFLOP (stoker.count(model, sample) in Python counts all of these)"},
	{
		flag: "bytes", unit: inBytes,
		help: "with --flops: bytes that one sample's forward pass moves through device memory at 16 bits: 89MB",
	},
	{flag: "params", help: "with --flops: parameters: 25.6M"},
	{
		flag: "kept", unit: inBytes,
		help: "with --flops: bytes that one sample keeps for the backward pass at 16 bits (default: half of --bytes)",
	},
	{flag: "layers", unit: inCounts, help: fmt.Sprintf(
		"with --flops: layers launched one after the other: convolutions, or transformer blocks (default %d)",
		usualLayers)},
	{
		flag: "grouped", unit: inFLOP,
		help: "with --flops: FLOP of them in convolutions by groups of several channels, as in RegNet: 0.3GFLOP " +
			"(default: none)",
	},
	{flag: "family", help: "with --flops: convnet, transformer, volume (default: the whole spread)"},
}

// priceTable is what a GPU hour and its electricity cost; priceFlags holds the texts.
var priceTable = []predictFlag{
	{flag: "price", help: "`PRICE` of a GPU: $2.50/h (default: its list price)"},
	{flag: "kwh", help: "`DOLLARS` per kWh, if electricity is paid separately: 0.12"},
	{
		flag: "grid",
		help: "electricity `GRID` or what it emits: de, 385gCO2/kWh (stoker predict --list grids)",
	},
	{flag: "pue", help: "power usage effectiveness of the building, a `RATIO`: 1.3"},
}

// readingOrder is that in which rows are set, and their inputs listed: a row may
// need what the ones before it have set.
var readingOrder = []string{
	"model", "precision", "software", "gpu", "step", "inference", "recompute", "shard", "network",
	"data", "sample", "decoded", "cpu", "prepare", "hand-over", "spread",
	"batch", "gpus", "nodes", "workers", "cores",
	"access", "storage", "reads", "latency", "cached", "pinned", "link",
}

// predictFlags are the texts that a person gave, by flag; "" is not given.
type predictFlags struct {
	texts map[string]*string
	yes   map[string]*bool
	rows  map[string]predictFlag
	say   func(format string, args ...any) // what was assumed
	priceFlags
}

func (f *predictFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.texts, f.yes, f.rows = f.priceFlags.texts(), map[string]*bool{}, map[string]predictFlag{}
	for _, row := range predictTable {
		f.rows[row.flag] = row
		switch {
		case row.unit == isSwitch:
			f.yes[row.flag] = fs.Bool(row.flag, false, row.help)
		case f.texts[row.flag] != nil:
			fs.StringVar(f.texts[row.flag], row.flag, "", row.help)
		default:
			f.texts[row.flag] = fs.StringP(row.flag, row.short, "", row.help)
		}
	}
}

// givenText is what was given for a flag.
func (f *predictFlags) givenText(flag string) string { return *f.texts[flag] }

// value is what was given for a flag in its unit, more than 0, and how that is printed.
func (f *predictFlags) value(flag string) (value float64, printed string, err error) {
	return f.rows[flag].unit.read(flag, f.givenText(flag))
}

// on reports whether a switch was given.
func (f *predictFlags) on(flag string) bool { return *f.yes[flag] }

// fill gives a flag a text where the person gave none.
func (f *predictFlags) fill(flag, text string) {
	if f.givenText(flag) == "" {
		*f.texts[flag] = text
	}
}

// set reads the flags into the job, row by row.
func (d *described) set() error {
	for _, flag := range readingOrder {
		row := d.rows[flag]
		if err := row.set(d, row); err != nil {
			return err
		}
	}
	return nil
}

// unit reads the text of a flag.
type unit struct {
	read func(flag, text string) (value float64, printed string, err error) // more than 0
	show func(float64) string                                               // to a few digits
}

// unitOf makes a unit of a quantity's parser.
func unitOf[Q interface {
	~float64
	fmt.Stringer
}](parse func(string) (Q, error), show func(float64) string,
) *unit {
	return &unit{show: show, read: func(flag, text string) (float64, string, error) {
		q, err := readQuantity(flag, text, parse)
		return float64(q), q.String(), err
	}}
}

var (
	inBytes   = unitOf(quantity.ParseBytes, quantity.AboutBytes)
	inRates   = unitOf(quantity.ParseRate, quantity.AboutRate)
	inFLOP    = unitOf(quantity.ParseFLOP, nil)
	inSeconds = unitOf(quantity.ParseSeconds, quantity.AboutSeconds)
	inCounts  = unitOf(quantity.ParseCount, quantity.About)
	inNumbers = unitOf(quantity.ParseNumber, quantity.About)
	isSwitch  = &unit{} // given or not: a switch
)

// unknownWord says that nobody knows, where a kind of data would fill it in.
const unknownWord = "unknown"

// readGiven hands what a flag's text says to set. A text that was not given says nothing.
func readGiven(row predictFlag, text string, set func(v float64, printed string)) error {
	if text == "" {
		return nil
	}
	v, printed, err := row.unit.read(row.flag, text)
	if err != nil {
		return err
	}
	set(v, printed)
	return nil
}

// countOf sets a number of the setup.
func countOf(field func(*predict.Setup) *float64) func(*described, predictFlag) error {
	return func(d *described, row predictFlag) error {
		text := d.single(row.flag)
		if text == unknownWord {
			return nil
		}
		return readGiven(row, text, func(v float64, printed string) {
			*field(&d.Setup) = v
			d.note(row.flag, printed, given)
		})
	}
}

// exactly sets a quantity of the setup that has no usual value.
func exactly(field func(*predict.Setup) *stoker.Interval) func(*described, predictFlag) error {
	return func(d *described, row predictFlag) error {
		return readGiven(row, d.givenText(row.flag), func(v float64, printed string) {
			*field(&d.Setup) = stoker.Exactly(v)
			d.note(row.flag, printed, given)
		})
	}
}

// perRead sets what storage takes for one read. Whoever gives it reads one by one.
func perRead(field func(*predict.Setup) *stoker.Interval) func(*described, predictFlag) error {
	return func(d *described, row predictFlag) error {
		return readGiven(row, d.givenText(row.flag), func(v float64, _ string) {
			*field(&d.Setup) = stoker.Exactly(v)
			if d.PerFile == (stoker.Interval{}) {
				d.PerFile = stoker.Exactly(1)
			}
			d.note(row.flag, row.unit.show(v), given)
		})
	}
}

// usually sets a quantity as given, without doubt, else as the kind of data has it.
func usually(field func(*described) (*stoker.Interval, predict.Amount)) func(*described, predictFlag) error {
	return func(d *described, row predictFlag) error {
		value, usual := field(d)
		switch text := d.single(row.flag); {
		case text == unknownWord:
			*value = stoker.Unknown()
		case text != "":
			return readGiven(row, text, func(v float64, printed string) {
				*value = stoker.Exactly(v)
				d.note(row.flag, printed, given)
			})
		case usual.Point > 0:
			show := row.unit.show
			*value = usual.Interval
			d.note(row.flag, fmt.Sprintf("%s (%s to %s)", show(usual.Point), show(usual.Low), show(usual.High)),
				usual.Source)
		}
		return nil
	}
}

// unknownSetup is a job of which nobody has said anything.
func unknownSetup() predict.Setup { return predict.Setup{Workers: math.NaN(), Cores: math.NaN()} }
