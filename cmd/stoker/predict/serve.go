package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// languageFlags are what both questions about a language model ask.
type languageFlags struct {
	model, gpu, precision, software string
	hardware                        string
	table                           hardware.Table
	assumed                         []string
	counts                          map[string]*string // numbers, by flag
	json, all                       bool
	say                             func(format string, args ...any) // what was assumed
}

func (f *languageFlags) register(cmd *cobra.Command, stacks []language.Stack, usual string) {
	f.counts = map[string]*string{}
	cmd.Flags().StringVar(&f.model, "model", "",
		"language model (stoker predict --list language), or a config.json of your own")
	cmd.Flags().StringVar(&f.gpu, "gpu", "", "GPU or TPU (stoker predict --list gpus)")
	cmd.Flags().StringVar(&f.precision, "precision", "", "bf16, fp16, fp8, when serving int8 and int4 of weights alone "+
		"(default bf16, on GPUs without it fp16)")
	cmd.Flags().StringVar(&f.software, "software", "", language.Names(stacks)+" (default "+usual+")")
	cmd.Flags().StringVar(&f.hardware, "hardware", "", "file with your own rows (default ~/.config/stoker/hardware.json, "+
		"if it exists)")
	cmd.Flags().BoolVar(&f.all, "all", false, "print every part of the answer")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
}

// assume takes note of what was not said.
func (f *languageFlags) assume(format string, args ...any) {
	f.assumed = append(f.assumed, fmt.Sprintf(format, args...))
}

// addCount registers a number.
func (f *languageFlags) addCount(cmd *cobra.Command, flag, usual, help string) {
	f.counts[flag] = cmd.Flags().String(flag, usual, help)
}

// readNumber is a registered one; 0 if nothing is given.
func (f *languageFlags) readNumber(flag string, failed *error) float64 {
	text := *f.counts[flag]
	if text == "" || *failed != nil {
		return 0
	}
	n, err := question.ReadQuantity(flag, text, quantity.ParseCount)
	*failed = err
	return float64(n)
}

// readSubject reads model, GPU and precision.
func (f *languageFlags) readSubject(
	precisions ...hardware.Precision,
) (m language.Model, g hardware.GPU, p hardware.Precision, err error) {
	if m, err = readLanguageModel(f.model); err != nil {
		return m, g, p, err
	}
	if f.gpu == "" {
		return m, g, p, hint.Add(errors.New("--gpu is missing: on which GPU?"), "--gpu h100-sxm")
	}
	if f.table, err = hardwareTable(f.hardware); err != nil {
		return m, g, p, err
	}
	if g, err = question.FindGPU("gpu", f.gpu, f.table, f.say); err != nil {
		return m, g, p, err
	}
	if p = hardware.Precision(strings.ToLower(f.precision)); p == "" {
		if p = usualPrecision(g); p != hardware.BF16 {
			f.assume("precision %s (--precision)", p)
		}
		return m, g, p, nil
	}
	if !slices.Contains(precisions, p) {
		words := make([]string, len(precisions))
		for i, one := range precisions {
			words[i] = string(one)
		}
		return m, g, p, fmt.Errorf("--precision %q: expected one of %s", f.precision, strings.Join(words, ", "))
	}
	return m, g, p, nil
}

// usualPrecision is that of a question that names none.
func usualPrecision(gpu hardware.GPU) hardware.Precision {
	if !gpu.Peak(hardware.BF16).Known() && gpu.Peak(hardware.FP16).Known() {
		return hardware.FP16
	}
	return hardware.BF16
}

// findStack finds the software that a flag names, by its own name or by that of a program in it.
func findStack(name string, stacks []language.Stack, programs map[string]language.Stack) (language.Stack, error) {
	word := strings.ToLower(strings.TrimSpace(name))
	if stack, known := programs[word]; known {
		return stack, nil
	}
	if stack := language.Stack(word); slices.Contains(stacks, stack) {
		return stack, nil
	}
	return "", fmt.Errorf("--software %q: expected one of %s", name, language.Names(stacks))
}

// readLanguageModel is a model of the table, or one that a file describes.
func readLanguageModel(name string) (language.Model, error) {
	if strings.HasSuffix(name, ".json") {
		data, err := cli.ReadSmall(name)
		if err != nil {
			return language.Model{}, fmt.Errorf("--model: %w", err)
		}
		return language.ParseConfig(name, data)
	}
	if name == "" {
		return language.Model{}, hint.Add(
			errors.New("--model is missing: which one of stoker predict --list language?"), "--model llama-3.1-8b",
		)
	}
	m, found := language.FindModel(name)
	if network, other := device.FindWorkload(name); !found && other {
		return m, hint.Add(
			fmt.Errorf("--model %q is no language model of the table: stoker predict itself answers for it", name),
			"stoker predict --model "+network.Name,
		)
	}
	if !found {
		return m, fmt.Errorf("--model %q is not in the table, nearest: %s. A model of your own is named by its config.json",
			name, strings.Join(language.NearestModels(name), ", "))
	}
	return m, nil
}

// printOwnModel says what was read of a model that a file describes.
func printOwnModel(a *cli.App, m language.Model) {
	if !strings.HasSuffix(m.Name, ".json") {
		return
	}
	active := ""
	if m.Experts > 0 {
		active = ", " + quantity.About(m.Active()/1e9) + " B of them for a token"
	}
	fmt.Fprintf(a.Stdout, "model         %s: %s B parameters%s, %.0f layers of width %.0f\n", safe.Text(m.Title, 200),
		quantity.About(m.Params()/1e9), active, m.Layers, m.Width)
}

// serveCommand is "predict serve": a language model that answers.
func serveCommand(a *cli.App) *cobra.Command {
	f := &languageFlags{say: a.Say}
	var draft string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "How fast a language model answers: prefill and decode",
		Long: `Say how long a prompt takes (prefill), how long each further token takes (decode), what all requests
together get, and what the time goes into. Without --batch as many requests run as memory holds.`,
		Example: `  stoker predict serve --model llama-3.1-70b --gpu h200 --precision fp8 --software tensorrt-llm
  stoker predict serve --model llama-3.1-405b --gpu mi300x --tp 8 --precision fp8 --batch 16 --software vllm
  stoker predict serve --model my-model/config.json --gpu l40s --software vllm`,
		Args: cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"accept", "guesses"} {
				if draft == "" && cmd.Flags().Changed(flag) {
					return cli.AsUsage(fmt.Errorf("--%s is about a --draft: name the model that guesses", flag))
				}
			}
			s, err := f.readServing(draft)
			if err != nil {
				return cli.AsUsage(err)
			}
			rate, err := s.Solve()
			if err != nil {
				return cli.AsUsage(err)
			}
			a.Began = true
			if f.json {
				return wire.WriteServing(a.Stdout, s, rate, f.assumed)
			}
			printServing(a, f, s, rate)
			return nil
		},
	}
	f.register(cmd, language.ServingStacks, string(language.UsualServing))
	cmd.Flags().StringVar(&draft, "draft", "", "model that guesses tokens, which --model checks (speculative decoding)")
	f.addCount(cmd, "guesses", "4", "tokens of a guess")
	f.addCount(cmd, "accept", "70%", "share of guessed tokens that are kept")
	f.addCount(cmd, "tp", "1", "tensor parallel: GPUs that share each layer")
	f.addCount(cmd, "input", "1000", "tokens of a prompt")
	f.addCount(cmd, "output", "1000", "tokens of an answer")
	f.addCount(cmd, "batch", "", "requests in progress (default: as many as memory holds)")
	cli.SetGroups(cmd,
		cli.Section{Title: "Server", Names: "model gpu tp precision software hardware"},
		cli.Section{Title: "Requests", Names: "input output batch"},
		cli.Section{Title: "A model that guesses", Names: "draft guesses accept"},
		cli.Section{Title: "Answer", Names: "all json"},
	)
	return cmd
}

// servingPrograms are names of programs that run on a stack.
var servingPrograms = map[string]language.Stack{
	"": language.UsualServing, "trt-llm": language.TensorRT, "tensorrt": language.TensorRT,
	"gpt-fast": language.PyTorch,
}

func (f *languageFlags) readServing(draft string) (s language.Serving, err error) {
	s.Model, s.GPU, s.Precision, err = f.readSubject(hardware.BF16, hardware.FP16, hardware.FP8, hardware.INT8,
		language.INT4, hardware.FP32, hardware.TF32)
	if err != nil {
		return s, err
	}
	if s.Stack, err = findStack(f.software, language.ServingStacks, servingPrograms); err != nil {
		return s, err
	}
	if f.software == "" {
		f.assume("software %s (--software)", s.Stack)
	}
	for flag, into := range map[string]*float64{
		"tp": &s.Tensor, "input": &s.Input, "output": &s.Output, "batch": &s.Batch, "guesses": &s.Guesses,
	} {
		*into = f.readNumber(flag, &err)
	}
	if err != nil || draft == "" {
		return s, err
	}
	model, err := readLanguageModel(draft)
	if err != nil {
		return s, fmt.Errorf("--draft%s", strings.TrimPrefix(err.Error(), "--model"))
	}
	accept, err := quantity.ParseShare(*f.counts["accept"])
	if err != nil {
		return s, fmt.Errorf("--accept: %w", err)
	}
	s.Draft, s.Accept = &model, float64(accept)
	return s, nil
}

// printServing prints the answer in eight lines: what is reached, what decides it, and what was assumed.
func printServing(a *cli.App, f *languageFlags, s language.Serving, r language.ServingRate) {
	row := func(name, format string, args ...any) { printRow(a, name, format, args...) }
	printOwnModel(a, s.Model)
	row("tokens/s", "%s of all requests, %s in progress", quantity.Around(r.TokenRate, quantity.About),
		quantity.About(r.Batch))
	row("first token", "%s, nothing else running", quantity.Around(r.Prefill, quantity.AboutSeconds))
	row("each token", "%s", quantity.Around(r.PerToken, quantity.AboutSeconds))
	row("decides", "%s", strings.Join(describeShares([]stepShare{
		{"reading weights", r.Weights},
		{"reading the cache", r.Cache},
		{"products", r.Compute},
		{"links", r.Messages},
		{"launches", r.Launches},
	}, f.all), ", "))
	row("memory", "%s of %s a GPU", quantity.AboutBytes(r.Memory), quantity.AboutBytes(s.GPU.MemoryBytes.Value))
	if len(f.assumed) > 0 {
		row("assumed", "%s", strings.Join(f.assumed, ", "))
	}
}

// languageRows is the table of language models.
func languageRows() [][]string {
	rows := [][]string{{
		"name", "title", "parameters", "active", "layers", "width", "heads", "KV heads", "experts",
		"words", "sources",
	}}
	for _, m := range language.Models {
		experts := ""
		if m.Experts > 0 {
			experts = fmt.Sprintf("%s of %s", quantity.About(m.Chosen+m.Always), quantity.About(m.Experts+m.Always))
		}
		rows = append(rows, []string{
			m.Name, m.Title, quantity.About(m.Params()/1e9) + " B", quantity.About(m.Active()/1e9) + " B",
			fmt.Sprintf("%.0f", m.Layers),
			fmt.Sprintf("%.0f", m.Width), fmt.Sprintf("%.0f", m.Heads), fmt.Sprintf("%.0f", m.KVHeads), experts,
			fmt.Sprintf("%.0f", m.Words), m.Source,
		})
	}
	return rows
}
