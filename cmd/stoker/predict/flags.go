package predict

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/recording"
)

// flagGroup is a section of the help: a heading and its flags.
type flagGroup struct {
	title string
	rows  []flagRow
}

// flagRow describes one flag.
type flagRow struct {
	flag, short string // short is a letter, or ""
	isSwitch    bool
	help        string
}

// flagTable lists every flag in the order of the help: the common ones first, the others by what they
// describe. Package question reads their values.
var flagTable = []flagGroup{
	{"Common flags", []flagRow{
		{flag: "model", help: "network (--list models)"},
		{flag: "gpu", help: "GPU by key or by the driver's name (--list gpus)"},
		{flag: "batch", help: "samples per step and GPU"},
		{flag: "precision", help: "fp32, tf32, fp16, bf16, fp8, int8 (default: the whole spread)"},
		{flag: "software", help: "eager, channels-last, compiled, engine (default: the whole spread)"},
		{flag: "workers", help: "loader processes per GPU (num_workers, 0: load in the training loop)"},
		{flag: "cores", help: "logical cores of the machine that the job may use"},
		{flag: "storage", help: "class of storage (--list storage) or its rate: nvme, 1.2GB/s"},
	}},
	{"Common questions", []flagRow{
		{flag: "for", help: "size workers, cores and rates for this utilisation: 95%"},
		{flag: "util", help: "share of the time for which a running job's GPU computes: 40% (what do its waits cost?)"},
		{flag: "to", help: "with RUN or --util: GPU to move the job to (default: the usual ones)"},
		{
			flag: "all", isSwitch: true,
			help: "print every part of the path, what idling costs, and what would change the answer",
		},
	}},
	{"Job", []flagRow{
		{flag: "inference", isSwitch: true, help: "forward passes only (default: training)"},
		{flag: "tokens", help: "tokens per sample, for sequences"},
		{flag: "side", help: "pixels or voxels along a side of a sample"},
		{
			flag: "recompute", isSwitch: true,
			help: "training computes activations again in the backward pass instead of keeping them",
		},
		{
			flag: "mlperf",
			help: "a workload of MLPerf Storage v2.0, fills in what you do not give: " +
				strings.Join(question.StorageBenchmarkNames(), ", "),
		},
	}},
	{"Job: a network of your own", ownNetwork},
	{"Device", []flagRow{
		{flag: "step", help: "the device's time for a step, if you know it: 103ms"},
		{
			flag: "measured",
			help: "a measured step of the same program, carried over to what is asked: " +
				"'2,470 samples/s at batch 256 on a100-80gb-sxm'",
		},
		{flag: "like", help: "a recording whose measured step, without its waits, is carried over"},
		{
			flag: "link",
			help: "host link (--list links) or its rate (default: the GPU's), gds if the device reads by itself",
		},
		{flag: "pinned", isSwitch: true, help: "batches are copied from page-locked memory (pin_memory=True)"},
	}},
	{"Input: the data", []flagRow{
		{
			flag: "data",
			help: "kind of data, fills in what you do not give (--list profiles, default: what the model usually reads)",
		},
		{flag: "sample", help: "stored size of a sample: 110KB"},
		{flag: "decoded", help: "size of a sample as it is copied to the device: 602KB"},
		{flag: "dataset", help: "stored size of the data set, to be held against --memory: 150GB"},
		{flag: "memory", help: "memory of a machine that is left to keep samples in: 400GB"},
		{flag: "cached", help: "share of the data set that is in memory: 50%"},
	}},
	{"Input: the host's CPU", []flagRow{
		{flag: "prepare", help: "core time to prepare a sample: 2.8ms"},
		{
			flag: "cpu",
			help: "instead of --prepare: a processor whose cores were measured (--list cpus), or what all workers of a " +
				"GPU prepare together, stored bytes: 250MB/s",
		},
		{flag: "spread", help: "coefficient of variation of --prepare from sample to sample: 0.5"},
		{flag: "hand-over", help: "time of the training process to collect a sample from a worker: 200us"},
	}},
	{"Storage", []flagRow{
		{
			flag: "access",
			help: "how samples are stored: files (one each) or sequential (shards), default: as --data usually does",
		},
		{flag: "reads", help: "reads/s that a machine's storage answers: 5500"},
		{flag: "latency", help: "time until it has answered one read, while a worker waits: 150ms"},
		{flag: "checkpoint", help: "with --walls: rate at which a checkpoint is written"},
	}},
	{"Scale", []flagRow{
		{flag: "gpus", help: "GPUs that train together (default 1)"},
		{flag: "nodes", help: "machines that share the GPUs evenly, each with --cores and --storage (default 1)"},
		{flag: "network", help: "network between machines (--list networks) or its rate per machine, one direction"},
		{
			flag: "shard",
			help: "what the GPUs that train together share: zero1 (optimiser), zero2 (gradients too), zero3 (weights " +
				"too, as fsdp)",
		},
		{flag: "walls", isSwitch: true, help: "hold the job against each wall: memory to checkpoint"},
		{flag: "mtbf", help: "with --walls: mean time between failures of the job: 24h"},
	}},
	{"Cost", append(priceRows(), flagRow{
		flag: "hours", help: "GPU hours that the cost of idling is for (default a day of all GPUs)",
	})},
	{"Output", []flagRow{
		{flag: "sources", isSwitch: true, help: "name the source of every figure, and how each part is computed"},
		{flag: "out", short: "o", help: "write a page (FILE.html), or draw a sweep or roofline (FILE.svg)"},
		{flag: "json", isSwitch: true, help: "print one JSON object"},
		{flag: "csv", isSwitch: true, help: "print rows of comma-separated values"},
	}},
	{"Tables and figures without a job", []flagRow{
		{flag: "list", help: "print a table with its sources: " + strings.Join(Lists, ", ")},
		{
			flag: "hardware",
			help: "file with your own rows (default ~/.config/stoker/hardware.json, if it exists)",
		},
		{flag: "roofline", isSwitch: true, help: "FLOP/s over FLOP per byte (default: of all models)"},
		{
			flag: "tutorial", isSwitch: true,
			help: "the published data-wall tutorial, with our estimate beside each figure",
		},
	}},
}

// ownNetwork lists the flags that describe a network outside the table.
var ownNetwork = []flagRow{
	{
		flag: "flops",
		help: "instead of --model: FLOP of one sample's forward pass, 2 per " +
			"multiply-add: 8.18GFLOP (stoker.count(model, sample) in Python counts all of these)",
	},
	{
		flag: "bytes",
		help: "with --flops: bytes that one sample's forward pass moves through device memory at 16 bits: 89MB",
	},
	{flag: "params", help: "with --flops: parameters: 25.6M"},
	{
		flag: "kept",
		help: "with --flops: bytes that one sample keeps for the backward pass at 16 bits (default: half of --bytes)",
	},
	{
		flag: "layers",
		help: fmt.Sprintf(
			"with --flops: layers launched one after the other: convolutions, or transformer blocks (default %d)",
			question.UsualLayers),
	},
	{
		flag: "grouped",
		help: "with --flops: FLOP of them in convolutions by groups of several channels, as in RegNet: 0.3GFLOP " +
			"(default: none)",
	},
	{flag: "family", help: "with --flops: convnet, transformer, volume (default: the whole spread)"},
}

// priceRows returns the flags about the price of a GPU hour and its electricity.
func priceRows() (rows []flagRow) {
	for _, f := range cost.Rows {
		rows = append(rows, flagRow{flag: f.Flag, help: f.Help})
	}
	return rows
}

// register adds the flags to the verb, and their groups to its help.
func register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	sections := make([]cli.Section, len(flagTable))
	for i, group := range flagTable {
		sections[i].Title = group.title
		for _, row := range group.rows {
			sections[i].Names += row.flag + " "
			if row.isSwitch {
				fs.Bool(row.flag, false, row.help)
			} else {
				fs.StringP(row.flag, row.short, "", row.help)
			}
		}
	}
	cli.SetGroups(cmd, sections...)
}

// withoutEmpty checks the arguments, and refuses flags with an empty value. An unset shell variable would
// otherwise look like a flag that was not given.
func withoutEmpty(arguments cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) (err error) {
		if err := arguments(cmd, args); err != nil {
			return err
		}
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			if err == nil && flag.Value.Type() == "string" && strings.TrimSpace(flag.Value.String()) == "" {
				err = cli.AsUsage(fmt.Errorf("--%s is empty: give it a value, or leave it out", flag.Name))
			}
		})
		return err
	}
}

// readQuestion makes a question from the flags.
func readQuestion(cmd *cobra.Command, say func(format string, args ...any)) *question.Question {
	q := &question.Question{Texts: map[string]string{}, Switches: map[string]bool{}, Open: recording.Open, Say: say}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case cmd.LocalFlags().Lookup(flag.Name) == nil: // a flag of all verbs, such as --color
			return
		case flag.Value.Type() == "bool":
			q.Switches[flag.Name] = flag.Value.String() == "true"
		default:
			q.Texts[flag.Name] = flag.Value.String()
		}
		q.Given = append(q.Given, flag.Name)
	})
	q.Drawn = q.Text("out") != "" && !isPage(q.Text("out"))
	return q
}

// isPage reports whether a file is to be a page.
func isPage(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".html") }
