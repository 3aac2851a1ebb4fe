package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// languageFlags are what both questions about a language model ask.
type languageFlags struct {
	model, gpu, precision, software string
	counts                          map[string]*string // numbers, by flag
	json                            bool
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
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
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
	n, err := readQuantity(flag, text, quantity.ParseCount)
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
		return m, g, p, hintedError{errors.New("--gpu is missing: on which GPU?"), "--gpu h100-sxm"}
	}
	if g, err = findGPU("gpu", f.gpu, hardware.Known, f.say); err != nil {
		return m, g, p, err
	}
	if p = hardware.Precision(strings.ToLower(f.precision)); p == "" {
		return m, g, usualPrecision(g), nil
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
		data, err := readSmall(name)
		if err != nil {
			return language.Model{}, fmt.Errorf("--model: %w", err)
		}
		return language.ParseConfig(name, data)
	}
	if name == "" {
		return language.Model{}, hintedError{
			errors.New("--model is missing: which one of stoker predict --list language?"), "--model llama-3.1-8b",
		}
	}
	m, found := language.FindModel(name)
	if network, other := device.FindWorkload(name); !found && other {
		return m, hintedError{
			fmt.Errorf("--model %q is no language model of the table: stoker predict itself answers for it", name),
			"stoker predict --model " + network.Name,
		}
	}
	if !found {
		return m, fmt.Errorf("--model %q is not in the table, nearest: %s. A model of your own is named by its config.json",
			name, strings.Join(language.NearestModels(name), ", "))
	}
	return m, nil
}

// ownModel says what was read of a model that a file describes.
func (a *app) ownModel(m language.Model) {
	if !strings.HasSuffix(m.Name, ".json") {
		return
	}
	active := ""
	if m.Experts > 0 {
		active = ", " + quantity.About(m.Active()/1e9) + " B of them for a token"
	}
	fmt.Fprintf(a.stdout, "model         %s: %s B parameters%s, %.0f layers of width %.0f\n", safe.Text(m.Title, 200),
		quantity.About(m.Params()/1e9), active, m.Layers, m.Width)
}

// predictServeCommand is "predict serve": a language model that answers.
func (a *app) predictServeCommand() *cobra.Command {
	f := &languageFlags{say: a.say}
	recorded := recordedServer{json: &f.json}
	var draft string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "How fast a language model answers, or a recorded server at another load",
		Long: `Say how long a prompt takes (prefill), how long each further token takes (decode), what all requests
together get, and what the time goes into. Without --batch as many requests run as memory holds.

With --run FILE, the recording of a server, say how many requests a second it takes, and how long they take
at other loads.`,
		Example: `  stoker predict serve --model llama-3.1-70b --gpu h200 --precision fp8 --software tensorrt-llm
  stoker predict serve --model my-model/config.json --gpu l40s --software vllm
  stoker predict serve --run server.jsonl.gz --load 20,40,80`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if recorded.file != "" {
				if f.model != "" {
					return usageError{errRunAndModel}
				}
				return a.predictLoads(recorded)
			}
			for _, flag := range []string{"accept", "guesses"} {
				if draft == "" && cmd.Flags().Changed(flag) {
					return usageError{fmt.Errorf("--%s is about a --draft: name the model that guesses", flag)}
				}
			}
			s, err := f.readServing(draft)
			if err != nil {
				return usageError{err}
			}
			rate, err := s.Solve()
			if err != nil {
				return usageError{err}
			}
			a.began = true
			if f.json {
				return wire.WriteServing(a.stdout, rate)
			}
			a.servingRate(s, rate)
			return nil
		},
	}
	f.register(cmd, language.ServingStacks, string(language.UsualServing))
	recorded.register(cmd)
	cmd.Flags().StringVar(&draft, "draft", "", "model that guesses tokens, which --model checks (speculative decoding)")
	f.addCount(cmd, "guesses", "4", "tokens of a guess")
	f.addCount(cmd, "accept", "70%", "share of guessed tokens that are kept")
	f.addCount(cmd, "tp", "1", "tensor parallel: GPUs that share each layer")
	f.addCount(cmd, "input", "1000", "tokens of a prompt")
	f.addCount(cmd, "output", "1000", "tokens of an answer")
	f.addCount(cmd, "batch", "", "requests in progress (default: as many as memory holds)")
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
		f.say("--software is not named: assumed to be %s", s.Stack)
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

func (a *app) servingRate(s language.Serving, r language.ServingRate) {
	a.ownModel(s.Model)
	fmt.Fprintf(a.stdout, "requests      %s in progress\n", quantity.About(r.Batch))
	fmt.Fprintf(a.stdout, "first token   %s (%s to %s), nothing else running\n", quantity.AboutSeconds(r.Prefill.Point),
		quantity.AboutSeconds(r.Prefill.Low), quantity.AboutSeconds(r.Prefill.High))
	fmt.Fprintf(a.stdout, "each token    %s (%s to %s)\n", quantity.AboutSeconds(r.PerToken.Point),
		quantity.AboutSeconds(r.PerToken.Low), quantity.AboutSeconds(r.PerToken.High))
	fmt.Fprintf(a.stdout, "tokens/s      %s of all requests (%s to %s)\n", quantity.About(r.TokenRate.Point),
		quantity.About(r.TokenRate.Low), quantity.About(r.TokenRate.High))
	fmt.Fprintf(a.stdout,
		"a token is    %s reading weights, %s reading the cache, %s products, %s links, %s launches\n",
		quantity.Percent(r.Weights), quantity.Percent(r.Cache), quantity.Percent(r.Compute),
		quantity.Percent(r.Messages), quantity.Percent(r.Launches))
	fmt.Fprintf(a.stdout, "memory        %s of %s a GPU\n", quantity.AboutBytes(r.Memory),
		quantity.AboutBytes(s.GPU.MemoryBytes.Value))
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
