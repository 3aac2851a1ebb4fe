package predict

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// trainFlags are the flags of predict train.
type trainFlags struct {
	languageFlags
	shard, compiled, activations, network, measured string
	lora, recompute, layout                         bool
}

// trainCommand makes stoker predict train, about a language model on many GPUs.
func trainCommand(a *cli.App) *cobra.Command {
	f := &trainFlags{languageFlags: languageFlags{say: a.Say}}
	cmd := &cobra.Command{
		Use:   "train",
		Short: "How fast a language model trains on many GPUs",
		Long: `Say how many tokens a second a language model trains at, what MFU that is, what the step goes into,
and whether it fits into memory. No run is needed. What you leave out is the usual, and is listed.`,
		Example: `  stoker predict train --model llama-3.1-70b --gpu h100 --gpus 64 --layout
  stoker predict train --model llama-2-7b --gpu a100 --gpus 128 --software hsdp --measured 'MFU 46%'
  stoker predict train --model my-model/config.json --gpu h100 --gpus 8 --lora`,
		Args: withoutEmpty(cli.AtMost(0)),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkLayout(cmd); err != nil {
				return cli.AsUsage(err)
			}
			return answerTraining(a, f)
		},
	}
	f.register(cmd, language.TrainingStacks, "fsdp, on TPUs xla")
	flags := cmd.Flags()
	f.addCount(cmd, "gpus", "8", "GPUs of the job")
	f.addCount(cmd, "nodes", "", "machines that share the GPUs evenly (default: of 8 GPUs, 72 of an NVL72)")
	flags.StringVar(&f.network, "network", "", "network between machines (stoker predict --list networks) or its rate per "+
		"machine, one direction")
	flags.StringVar(&f.shard, "shard", "", "what replicas share: none, zero1 (optimizer), zero2, zero3 (as fsdp), hsdp "+
		"(zero3 within a machine)")
	f.addCount(cmd, "shard-group", "", "ranks that share it (default: all)")
	flags.StringVar(&f.compiled, "compile", "", "torch.compile: on or off (default: either)")
	f.addCount(cmd, "tp", "1", "tensor and sequence parallel: GPUs that share each layer")
	f.addCount(cmd, "pp", "1", "pipeline parallel: stages")
	f.addCount(cmd, "virtual", "1", "stages that each GPU holds, interleaved")
	f.addCount(cmd, "cp", "1", "context parallel: GPUs that share a sequence")
	f.addCount(cmd, "ep", "1", "expert parallel: GPUs that share the experts")
	flags.BoolVar(&f.layout, "layout", false, "look for the fastest split that fits into memory")
	f.addCount(cmd, "tokens", "8192", "tokens of a sequence")
	f.addCount(cmd, "micro-batch", "1", "sequences that a GPU computes at once")
	f.addCount(cmd, "global-batch", "", "sequences of a step (default: about 128)")
	flags.StringVar(&f.activations, "activations", "", "keep, selective or recompute (default: as much is kept as fits)")
	flags.BoolVar(&f.recompute, "recompute", false, "the same as --activations recompute")
	flags.BoolVar(&f.lora, "lora", false, "the model is frozen, and adapters are trained")
	flags.StringVar(&f.measured, "measured", "", "what you reach, to be compared: '4,550 tokens/s' of a GPU, or 'MFU 46%'")
	cli.SetGroups(cmd,
		cli.Section{Title: "Job", Names: "model gpu gpus precision software compile lora"},
		cli.Section{Title: "Batch", Names: "tokens micro-batch global-batch activations recompute"},
		cli.Section{Title: "Split", Names: "layout tp pp virtual cp ep shard shard-group"},
		cli.Section{Title: "Machines", Names: "nodes network hardware"},
		cli.Section{Title: "Answer", Names: "measured all json"},
	)
	return cmd
}

// checkLayout refuses flags of a split together with --layout, which searches for them.
func (f *trainFlags) checkLayout(cmd *cobra.Command) error {
	for _, flag := range []string{"tp", "pp", "virtual", "cp", "ep", "micro-batch", "shard-group", "measured"} {
		if f.layout && cmd.Flags().Changed(flag) {
			return fmt.Errorf("--layout looks for it: leave --%s out", flag)
		}
	}
	return nil
}

func answerTraining(a *cli.App, f *trainFlags) error {
	t, err := f.read()
	if err != nil {
		return cli.AsUsage(err)
	}
	if f.layout {
		return listLayouts(a, f, t)
	}
	step, err := t.Solve()
	if err != nil {
		return cli.AsUsage(hintLayout(err))
	}
	mine, err := f.readMeasured(step)
	if err != nil {
		return cli.AsUsage(err)
	}
	a.Began = true
	if f.json {
		return wire.WriteTraining(a.Stdout, t, step, stat.PositiveOrNaN(mine), f.assumed)
	}
	printTraining(a, f, t, step, mine)
	return nil
}

// trainingPrograms maps names of programs to their training stack.
var trainingPrograms = map[string]language.Stack{
	"pytorch": language.FSDP, "torchtitan": language.FSDP, "fsdp2": language.FSDP, "ddp": language.FSDP,
	"hsdp": language.FSDP, "accelerate": language.FSDP, "transformers": language.FSDP, "lightning": language.FSDP,
	"trl": language.FSDP, "axolotl": language.FSDP, "composer": language.FSDP, "llm-foundry": language.FSDP,
	"fabric": language.FSDP, "torchtune": language.FSDP, "nemo": language.Megatron, "megatron-lm": language.Megatron,
	"zero1": language.DeepSpeed, "zero2": language.DeepSpeed, "zero3": language.DeepSpeed,
	"deepspeed-zero1": language.DeepSpeed, "deepspeed-zero2": language.DeepSpeed,
	"deepspeed-zero3": language.DeepSpeed, "megatron-deepspeed": language.Megatron,
	"jax": language.XLA, "maxtext": language.XLA,
}

func (f *trainFlags) read() (t language.Training, err error) {
	t.Model, t.GPU, t.Precision, err = f.readSubject(hardware.BF16, hardware.FP16, hardware.FP8, hardware.TF32,
		hardware.FP32, hardware.INT8)
	if err != nil {
		return t, err
	}
	if err = f.readSoftware(&t); err != nil {
		return t, err
	}
	for _, one := range []struct {
		flag string
		into *float64
	}{
		{"gpus", &t.GPUs},
		{"tp", &t.Tensor},
		{"pp", &t.Pipeline},
		{"virtual", &t.Virtual},
		{"cp", &t.Context},
		{"ep", &t.Expert},
		{"tokens", &t.Tokens},
		{"micro-batch", &t.MicroBatch},
		{"global-batch", &t.GlobalBatch},
	} {
		*one.into = f.readNumber(one.flag, &err)
	}
	if err != nil {
		return t, err
	}
	f.assumeUsual("gpus", "%s GPUs", t.GPUs)
	f.assumeUsual("tokens", "sequences of %s tokens", t.Tokens)
	f.fillBatch(&t)
	if err = f.readMachines(&t); err != nil {
		return t, err
	}
	return t, f.readMemory(&t)
}

// usualBatch is the usual number of sequences of a step: a million tokens in sequences of 8,192.
const usualBatch = 128

// fillBatch sets the usual global batch if none was given, rounded to what the replicas can share.
func (f *trainFlags) fillBatch(t *language.Training) {
	if t.GlobalBatch > 0 {
		return
	}
	each := t.MicroBatch * t.GPUs / (t.Tensor * t.Pipeline * t.Context)
	t.GlobalBatch = each * math.Max(1, math.Round(usualBatch/each))
	if !(t.GlobalBatch >= 1) { // Solve refuses what cannot be split
		t.GlobalBatch = usualBatch
	}
	f.assume("a step of %s sequences (--global-batch)", quantity.AboutMany(t.GlobalBatch))
}

// readSoftware parses the stack. Names such as hsdp and zero2 also say what replicas share.
func (f *trainFlags) readSoftware(t *language.Training) (err error) {
	if f.software == "" {
		t.Stack = language.UsualTraining(t.GPU)
		f.assume("software %s (--software)", t.Stack)
		return nil
	}
	word := strings.ToLower(f.software)
	if t.Stack, err = findStack(word, language.TrainingStacks, trainingPrograms); err != nil {
		return err
	}
	says, known := shardOfProgram[strings.TrimPrefix(word, "deepspeed-")]
	switch {
	case !known:
	case f.shard == "":
		f.shard = says
	case !strings.EqualFold(f.shard, says):
		return fmt.Errorf("--software %s shares as %s, and --shard %s says otherwise: give one", word, says, f.shard)
	}
	return nil
}

// shardOfProgram maps names of software to what replicas share.
var shardOfProgram = map[string]string{
	"ddp": "none", "hsdp": "hsdp", "zero1": "zero1", "zero2": "zero2", "zero3": "zero3",
}

// readMachines parses the number of machines, their network, and what replicas share.
func (f *trainFlags) readMachines(t *language.Training) error {
	var err error
	nodes := f.readNumber("nodes", &err)
	t.Group = f.readNumber("shard-group", &err)
	if err != nil {
		return err
	}
	t.PerMachine = math.Min(t.GPUs, language.MachineOf(t.GPU))
	if nodes > 0 {
		if t.PerMachine = t.GPUs / nodes; t.PerMachine != math.Trunc(t.PerMachine) {
			return question.RefuseUneven(t.GPUs, nodes)
		}
	}
	switch word := strings.ToLower(f.shard); word {
	case "fsdp":
		t.Shard = language.ZeRO3
	case "hsdp":
		t.Shard = language.ZeRO3
		if t.Group == 0 {
			t.Group = math.Max(1, t.PerMachine/t.Tensor)
		}
	default:
		t.Shard = language.Shard(word)
	}
	return f.readNetwork(t)
}

// readNetwork parses the network of a machine, which its GPUs share.
func (f *trainFlags) readNetwork(t *language.Training) error {
	if f.network == "" {
		if t.GPUs > t.PerMachine && !strings.HasPrefix(t.GPU.Name, "tpu-") {
			f.assume("a network of %s a GPU (--network)", quantity.AboutRate(language.UsualPort(t.GPU)))
		}
		return nil
	}
	network, known := f.table.FindNetwork(f.network)
	if !known {
		rate, err := question.ReadRate("network", f.network, f.table.NetworkNames())
		if err != nil {
			return err
		}
		network.Rate.Value = float64(rate)
	}
	t.Network = network.Rate.Value / t.PerMachine
	if known && t.GPUs > t.PerMachine {
		f.assume("one %s a machine, %s a GPU (--network 400GB/s says more)", network.Name, quantity.AboutRate(t.Network))
	}
	return nil
}

// readMemory parses which activations are kept, and whether the program is compiled.
func (f *trainFlags) readMemory(t *language.Training) error {
	t.LoRA = f.lora
	t.Activations = language.Activations(strings.ToLower(f.activations))
	if f.recompute {
		if f.activations != "" && t.Activations != language.Recompute {
			return fmt.Errorf("--recompute and --activations %s contradict each other: give one", f.activations)
		}
		t.Activations = language.Recompute
	}
	if t.Compiled = language.Switch(strings.ToLower(f.compiled)); !slices.Contains(
		[]language.Switch{language.Unsaid, language.On, language.Off}, t.Compiled) {
		return fmt.Errorf("--compile %q: expected on or off", f.compiled)
	}
	if t.Compiled == language.Unsaid && (t.Stack == language.FSDP || t.Stack == language.DeepSpeed) {
		f.assume("compiled or not (--compile)")
	}
	return nil
}

// readMeasured parses tokens/s of a GPU, or an MFU, and returns tokens/s. It returns 0 if none was given.
func (f *trainFlags) readMeasured(s language.TrainingStep) (float64, error) {
	text := strings.TrimSpace(f.measured)
	if text == "" {
		return 0, nil
	}
	if strings.HasSuffix(text, "%") || strings.HasPrefix(strings.ToLower(text), "mfu") {
		share, err := quantity.ParseShare(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text, "MFU"), "mfu")))
		if err != nil {
			return 0, fmt.Errorf("--measured: %w", err)
		}
		if share == 0 {
			return 0, noMeasured(text)
		}
		return float64(share) / s.MFU.Point * s.TokenRate.Point, nil
	}
	number, found := cutTokenRate(text)
	n, err := quantity.ParseNumber(strings.TrimSpace(number))
	if err != nil || !found || n == 0 {
		return 0, noMeasured(text)
	}
	if most := s.TokenRate.Point / s.MFU.Point; float64(n) > most {
		return 0, fmt.Errorf("--measured %q: a GPU at its peak reaches %s tokens/s: give those of one GPU", text,
			quantity.About(most))
	}
	return float64(n), nil
}

// tokenRate matches units of a token rate as people write them: "tok/s", "tokens/sec/GPU", "tokens/s per GPU".
var tokenRate = regexp.MustCompile(`(?i)\s*(tokens?|toks?|tk)(/| per )(s|sec|seconds?)((/| per )(gpu|device|card))?$`)

// cutTokenRate returns the number before a rate's unit.
func cutTokenRate(text string) (number string, found bool) {
	at := tokenRate.FindStringIndex(text)
	if at == nil {
		return text, false
	}
	return text[:at[0]], true
}

func noMeasured(text string) error {
	return fmt.Errorf("--measured %q: expected what a GPU reaches, such as '4,550 tokens/s' or 'MFU 46%%'", text)
}

// hintLayout adds a split that fits as a hint, if the job does not fit into memory.
func hintLayout(err error) error {
	var memory *language.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	q := memory.Question
	q.Activations = language.AnyActivations
	for ; q.GPUs <= 64*memory.Question.GPUs; q.GPUs *= 2 {
		if q.GPUs > memory.Question.GPUs {
			q.PerMachine = math.Min(q.GPUs, language.MachineOf(q.GPU))
		}
		q.GlobalBatch = math.Max(q.GlobalBatch, q.GPUs)
		if all := q.Layouts(); len(all) > 0 {
			return hint.Attach(err, "this fits: "+layoutFlags(all[0]))
		}
	}
	return err
}

// layoutFlags returns the flags of a split.
func layoutFlags(l language.Layout) string {
	flags := []string{fmt.Sprintf("--gpus %v", l.GPUs)}
	for _, one := range []struct {
		flag  string
		value float64
	}{{"tp", l.Tensor}, {"pp", l.Pipeline}, {"virtual", l.Virtual}, {"cp", l.Context}, {"ep", l.Expert}} {
		if one.value > 1 {
			flags = append(flags, fmt.Sprintf("--%s %v", one.flag, one.value))
		}
	}
	flags = append(flags, fmt.Sprintf("--micro-batch %v --global-batch %v", l.MicroBatch, l.GlobalBatch))
	return strings.Join(flags, " ")
}

// shownLayouts is how many splits --layout lists.
const shownLayouts = 5

// listLayouts prints the fastest splits that fit into memory.
func listLayouts(a *cli.App, f *trainFlags, t language.Training) error {
	all := t.Layouts()
	if len(all) == 0 {
		return cli.AsUsage(fmt.Errorf("%s fits into %v %s in no split: take more GPUs, or --lora", t.Model.Title, t.GPUs,
			t.GPU.Title))
	}
	a.Began = true
	if f.json {
		return wire.WriteTraining(a.Stdout, all[0].Training, all[0].Step, math.NaN(), f.assumed)
	}
	rows := [][]string{{"tokens/s a GPU", "from", "to", "memory", "flags"}}
	for _, l := range all[:min(shownLayouts, len(all))] {
		s := l.Step
		rows = append(rows, []string{
			quantity.About(s.TokenRate.Point), quantity.About(s.TokenRate.Low), quantity.About(s.TokenRate.High),
			quantity.AboutBytes(s.Memory.Total.Point), layoutFlags(l),
		})
	}
	if err := text.WriteTable(a.Stdout, rows, a.TextStyle(a.Stdout)); err != nil {
		return err
	}
	if len(f.assumed) > 0 {
		printRow(a, "assumed", "%s", strings.Join(f.assumed, ", "))
	}
	return nil
}

// printTraining prints the answer in eight lines: the rate, what limits it, whether it fits into memory,
// and what was assumed.
func printTraining(a *cli.App, f *trainFlags, t language.Training, s language.TrainingStep, mine float64) {
	row := func(name, format string, args ...any) { printRow(a, name, format, args...) }
	room := quantity.AboutBytes(t.GPU.MemoryBytes.Value)
	if s.Fit != language.Fits {
		row("memory", "it %s: %s of %s a GPU, at least %s with a small optimizer", s.Fit,
			quantity.AboutBytes(s.Memory.Total.Point), room, quantity.AboutBytes(s.Memory.Total.Low))
	}
	printOwnModel(a, t.Model)
	row("tokens/s", "%s a GPU, %s of all", quantity.Around(s.TokenRate, quantity.About),
		quantity.About(t.GPUs*s.TokenRate.Point))
	row("MFU", "%s, all pairs of attention counted", quantity.Around(s.MFU, quantity.Percent))
	if mine > 0 {
		row("yours", "%s", compareRate(mine, s.TokenRate))
	}
	row("step", "%s", quantity.Around(s.Time, quantity.AboutSeconds))
	row("decides", "%s", strings.Join(trainingParts(s, f.all), ", "))
	if s.Fit == language.Fits {
		row("memory", "%s of %s a GPU: it fits, activations: %s", quantity.AboutBytes(s.Memory.Total.Point), room, s.Activations)
	}
	if len(f.assumed) > 0 {
		row("assumed", "%s", strings.Join(f.assumed, ", "))
	}
	if f.all {
		row("state", "%s a GPU, shared as %s", quantity.AboutBytes(s.Memory.State.Point), s.Shard)
		row("activations", "%s a GPU, with logits", quantity.Around(s.Memory.Activations, quantity.AboutBytes))
		row("network", "%s a GPU, machines of %v", quantity.AboutRate(networkOf(t)), t.PerMachine)
	}
}

func networkOf(t language.Training) float64 {
	if t.Network > 0 {
		return t.Network
	}
	return language.UsualPort(t.GPU)
}

// compareRate says whether a measured rate is usual for such a job.
func compareRate(mine float64, likely stoker.Interval) string {
	text := fmt.Sprintf("%s tokens/s a GPU, %s of the likely ones: ", quantity.About(mine),
		quantity.Percent(mine/likely.Point))
	switch {
	case mine < likely.Low:
		return text + "below what such jobs reach, so something holds it up (stoker observe)"
	case mine > likely.High:
		return text + "above what such jobs reach: check how it was counted"
	}
	if mine < likely.Point/muchLess {
		return text + "within what such jobs reach, but in the lower part of it"
	}
	return text + "usual for such a job"
}

// muchLess is how far below the likely rate a job is called slow. Nine of ten published jobs of sources left
// out of the fit lie within 1.2.
const muchLess = 1.2

// trainingParts returns the parts of a step with their shares, the largest first.
func trainingParts(s language.TrainingStep, all bool) []string {
	return describeShares([]stepShare{
		{"products", s.Products},
		{"attention", s.Attention},
		{"simple operators", s.Moved},
		{"tensor links", s.TensorLinks},
		{"context links", s.ContextLinks},
		{"expert links", s.ExpertLinks},
		{"bubble", s.Bubble},
		{"exchange of weights and gradients", s.Replicas},
		{"optimizer", s.Optimizer},
		{"launches", s.Launches},
	}, all)
}
