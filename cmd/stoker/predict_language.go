package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/safe"
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

func (f *languageFlags) register(cmd *cobra.Command, stacks []language.Stack) {
	f.counts = map[string]*string{}
	cmd.Flags().StringVar(&f.model, "model", "", "language model (stoker predict --list language), or a config.json of your own")
	cmd.Flags().StringVar(&f.gpu, "gpu", "", "GPU or TPU (stoker predict --list gpus)")
	cmd.Flags().StringVar(&f.precision, "precision", "bf16", "bf16, fp8, and in serving int8 (weights alone)")
	cmd.Flags().StringVar(&f.software, "software", "", "stack, which has to be named: "+language.Names(stacks))
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

// readSubject reads model, GPU, precision and stack.
func (f *languageFlags) readSubject(
	stacks []language.Stack,
) (m language.Model, g hardware.GPU, p hardware.Precision, s language.Stack, err error) {
	if m, err = readLanguageModel(f.model); err != nil {
		return m, g, p, s, err
	}
	if f.gpu == "" {
		return m, g, p, s, hintedError{errors.New("--gpu is missing: on which GPU?"), "--gpu h100-sxm"}
	}
	if g, err = findGPU("gpu", f.gpu, hardware.Known, f.say); err != nil {
		return m, g, p, s, err
	}
	if p = hardware.Precision(f.precision); !slices.Contains(hardware.Precisions, p) {
		return m, g, p, s, fmt.Errorf("--precision %q: expected bf16, fp16, fp8, int8, tf32 or fp32", f.precision)
	}
	if s = language.Stack(f.software); s != "" && !slices.Contains(stacks, s) {
		return m, g, p, s, fmt.Errorf("--software %q: expected one of %s", f.software, language.Names(stacks))
	}
	return m, g, p, s, nil
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
	if !found {
		return m, fmt.Errorf("--model %q is not in the table, nearest: %s. A model of your own is named by its config.json",
			name, strings.Join(language.NearestModels(name), ", "))
	}
	return m, nil
}

// askForStack names what each stack would take, if none was named.
func askForStack(stacks []language.Stack, answer func(language.Stack) (string, error)) error {
	said := make([]string, len(stacks))
	for i, s := range stacks {
		text, err := answer(s)
		if err != nil {
			return err
		}
		said[i] = string(s) + " " + text
	}
	return errors.New("--software is not named, and it decides more than all else. Likely: " + strings.Join(said,
		", ") + " tokens/s")
}

// predictTrainCommand is "predict train": a language model on many GPUs.
func (a *app) predictTrainCommand() *cobra.Command {
	f := &languageFlags{say: a.say}
	var recompute bool
	cmd := &cobra.Command{
		Use:   "train",
		Short: "How fast a language model trains on many GPUs",
		Long: `Say what a training step of a language model takes with tensor, pipeline, context, expert and
data parallelism, what the step goes into, and what state each GPU keeps. No run is needed.`,
		Example: `  stoker predict train --model llama-3.1-70b --gpu h100-sxm --gpus 64 --tp 4 --pp 8 --software megatron
  stoker predict train --model deepseek-v3 --gpu gb200 --gpus 256 --pp 4 --ep 64 --software megatron
  stoker predict train --model my-model/config.json --gpu h100-sxm --gpus 8 --software fsdp`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			t, err := f.readTraining(recompute)
			if err != nil {
				return usageError{err}
			}
			step, err := t.Solve()
			if err != nil {
				return usageError{err}
			}
			a.began = true
			if f.json {
				return wire.WriteTraining(a.stdout, step)
			}
			a.trainingStep(t, step)
			return nil
		},
	}
	f.register(cmd, language.TrainingStacks)
	f.addCount(cmd, "gpus", "8", "GPUs of the job")
	f.addCount(cmd, "tp", "1", "tensor and sequence parallel: GPUs that share each layer")
	f.addCount(cmd, "pp", "1", "pipeline parallel: stages")
	f.addCount(cmd, "virtual", "1", "stages that each GPU holds, interleaved")
	f.addCount(cmd, "cp", "1", "context parallel: GPUs that share a sequence")
	f.addCount(cmd, "ep", "1", "expert parallel: GPUs that share the experts")
	f.addCount(cmd, "tokens", "8192", "tokens of a sequence")
	f.addCount(cmd, "micro-batch", "1", "sequences that a GPU computes at once")
	f.addCount(cmd, "global-batch", "128", "sequences of a step")
	cmd.Flags().BoolVar(&recompute, "recompute", false, "activations are computed again in the backward pass")
	return cmd
}

func (f *languageFlags) readTraining(recompute bool) (t language.Training, err error) {
	t.Model, t.GPU, t.Precision, t.Stack, err = f.readSubject(language.TrainingStacks)
	for flag, into := range map[string]*float64{
		"gpus": &t.GPUs, "tp": &t.Tensor, "pp": &t.Pipeline, "virtual": &t.Virtual, "cp": &t.Context, "ep": &t.Expert,
		"tokens": &t.Tokens, "micro-batch": &t.MicroBatch, "global-batch": &t.GlobalBatch,
	} {
		*into = f.readNumber(flag, &err)
	}
	t.Recompute = recompute
	if err != nil || t.Stack != "" {
		return t, err
	}
	return t, askForStack(language.TrainingStacks, func(s language.Stack) (string, error) {
		one := t
		one.Stack = s
		step, err := one.Solve()
		return quantity.About(step.TokenRate.Point), err
	})
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

func (a *app) trainingStep(t language.Training, s language.TrainingStep) {
	a.ownModel(t.Model)
	fmt.Fprintf(a.stdout, "step          %s (%s to %s)\n", quantity.AboutSeconds(s.Time.Point),
		quantity.AboutSeconds(s.Time.Low), quantity.AboutSeconds(s.Time.High))
	fmt.Fprintf(a.stdout, "tokens/s      %s a GPU (%s to %s)\n", quantity.About(s.TokenRate.Point),
		quantity.About(s.TokenRate.Low), quantity.About(s.TokenRate.High))
	fmt.Fprintf(a.stdout, "MFU           %s\n", quantity.Percent(s.MFU))
	fmt.Fprintf(a.stdout, "the step is   %s products, %s tensor links, %s expert links, %s bubble, %s gradients\n",
		quantity.Percent(s.Compute), quantity.Percent(s.TensorLinks), quantity.Percent(s.ExpertLinks),
		quantity.Percent(s.Bubble), quantity.Percent(s.Gradients))
	fits := ""
	if s.State > t.GPU.MemoryBytes.Value {
		fits = ": it does not fit"
	}
	fmt.Fprintf(a.stdout, "state         %s of %s a GPU, activations not counted%s\n", quantity.AboutBytes(s.State),
		quantity.AboutBytes(t.GPU.MemoryBytes.Value), fits)
}

// predictServeCommand is "predict serve": a language model that answers.
func (a *app) predictServeCommand() *cobra.Command {
	f := &languageFlags{say: a.say}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "How fast a language model answers: prefill and decode",
		Long: `Say how long a prompt takes (prefill), how long each further token takes (decode), what all requests
together get, and what the time goes into. Without --batch as many requests run as memory holds.`,
		Example: `  stoker predict serve --model llama-3.1-70b --gpu h200 --precision fp8 --software tensorrt-llm
  stoker predict serve --model llama-3.1-405b --gpu mi300x --tp 8 --precision fp8 --batch 16 --software vllm
  stoker predict serve --model my-model/config.json --gpu l40s --software vllm`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			s, err := f.readServing()
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
	f.register(cmd, language.ServingStacks)
	f.addCount(cmd, "tp", "1", "tensor parallel: GPUs that share each layer")
	f.addCount(cmd, "input", "1000", "tokens of a prompt")
	f.addCount(cmd, "output", "1000", "tokens of an answer")
	f.addCount(cmd, "batch", "", "requests in progress (default: as many as memory holds)")
	return cmd
}

func (f *languageFlags) readServing() (s language.Serving, err error) {
	s.Model, s.GPU, s.Precision, s.Stack, err = f.readSubject(language.ServingStacks)
	for flag, into := range map[string]*float64{
		"tp": &s.Tensor, "input": &s.Input, "output": &s.Output,
		"batch": &s.Batch,
	} {
		*into = f.readNumber(flag, &err)
	}
	if err != nil || s.Stack != "" {
		return s, err
	}
	return s, askForStack(language.ServingStacks, func(stack language.Stack) (string, error) {
		one := s
		one.Stack = stack
		rate, err := one.Solve()
		return quantity.About(rate.TokenRate.Point), err
	})
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
