package predict

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
)

// languageFlags are the flags that train and serve share.
type languageFlags struct {
	model, gpu, precision, software string
	hardware                        string
	table                           hardware.Table
	assumed                         []string
	counts                          map[string]*string // texts of numbers, by flag
	flags                           *pflag.FlagSet
	json, all                       bool
	say                             func(format string, args ...any) // what was assumed
}

func (f *languageFlags) register(cmd *cobra.Command, stacks []language.Stack, usual string) {
	f.counts, f.flags = map[string]*string{}, cmd.Flags()
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

// assume adds a line to the assumptions of the answer.
func (f *languageFlags) assume(format string, args ...any) {
	f.assumed = append(f.assumed, fmt.Sprintf(format, args...))
}

// assumeUsual adds the default of a flag to the assumptions, unless the flag was given.
func (f *languageFlags) assumeUsual(flag, format string, value float64) {
	if !f.flags.Changed(flag) {
		f.assume(format+" (--"+flag+")", quantity.Count(value))
	}
}

// addCount registers a flag that is a number.
func (f *languageFlags) addCount(cmd *cobra.Command, flag, usual, help string) {
	f.counts[flag] = cmd.Flags().String(flag, usual, help)
}

// readNumber parses a flag of addCount. It returns 0 if the flag is empty.
func (f *languageFlags) readNumber(flag string, failed *error) float64 {
	text := *f.counts[flag]
	if text == "" || *failed != nil {
		return 0
	}
	n, err := question.ReadQuantity(flag, text, quantity.ParseCount)
	*failed = err
	return float64(n)
}

// readSubject parses model, GPU and precision.
func (f *languageFlags) readSubject(
	precisions ...hardware.Precision,
) (m language.Model, g hardware.GPU, p hardware.Precision, err error) {
	if m, err = readLanguageModel(f.model); err != nil {
		return m, g, p, err
	}
	if f.gpu == "" {
		return m, g, p, hint.Attach(errors.New("--gpu is missing: on which GPU?"), "--gpu h100-sxm")
	}
	if f.table, err = hardwareTable(f.hardware); err != nil {
		return m, g, p, err
	}
	if g, err = question.FindGPU("gpu", f.gpu, f.table, f.say); err != nil {
		return m, g, p, err
	}
	if p = hardware.ReadPrecision(f.precision); p == "" {
		return m, g, f.assumePrecision(m, g, slices.Contains(precisions, language.INT4)), nil
	}
	if slices.Contains(quantizers, string(p)) {
		p = language.INT4
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

// quantizers are methods and formats that store weights in 4 bits.
var quantizers = []string{"awq", "gptq", "w4a16", "nf4", "mxfp4", "4bit"}

// assumePrecision returns the precision if none was given: the usual one, or that of a quantized
// checkpoint that is served.
func (f *languageFlags) assumePrecision(m language.Model, gpu hardware.GPU, serving bool) hardware.Precision {
	usual := usualPrecision(gpu)
	switch {
	case m.Weights != "" && !serving:
		f.assume("%s, though its file stores weights in %s (--precision)", usual, m.Weights)
	case m.Weights == hardware.FP8 && !gpu.Peak(hardware.FP8).Known():
		f.assume("int8, for the fp8 weights of its file (--precision)")
		return hardware.INT8
	case m.Weights != "":
		f.assume("%s, in which its file stores weights (--precision)", m.Weights)
		return m.Weights
	case usual != hardware.BF16:
		f.assume("precision %s (--precision)", usual)
	}
	return usual
}

// usualPrecision returns the usual precision of a GPU.
func usualPrecision(gpu hardware.GPU) hardware.Precision {
	if !gpu.Peak(hardware.BF16).Known() && gpu.Peak(hardware.FP16).Known() {
		return hardware.FP16
	}
	return hardware.BF16
}

// findStack finds the software by its own name, or by the name of a program that runs in it.
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

// readLanguageModel returns a model of the table, or reads one from its config.json or the folder with it.
func readLanguageModel(name string) (language.Model, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "config.json")
	}
	if strings.HasSuffix(name, ".json") {
		data, err := cli.ReadSmall(name)
		if err != nil {
			return language.Model{}, fmt.Errorf("--model: %w", err)
		}
		return language.ParseConfig(name, data)
	}
	if name == "" {
		return language.Model{}, hint.Attach(
			errors.New("--model is missing: which one of stoker predict --list language?"), "--model llama-3.1-8b",
		)
	}
	m, found := language.FindModel(name)
	if network, other := device.FindWorkload(name); !found && other {
		return m, hint.Attach(
			fmt.Errorf("--model %q is not a language model: stoker predict answers for it", name),
			"stoker predict --model "+network.Name,
		)
	}
	if !found {
		return m, fmt.Errorf("--model %q is not in the table, nearest: %s. A model of your own is named by its config.json",
			name, strings.Join(language.NearestModels(name), ", "))
	}
	return m, nil
}

// refuseLanguageModel refuses a model that only train and serve know.
func refuseLanguageModel(name string) error {
	m, known := language.FindModel(name)
	if _, other := device.FindWorkload(name); other || !known {
		return nil
	}
	return hint.Attach(fmt.Errorf("--model %q is a language model: stoker predict train and serve answer for it", name),
		"stoker predict train --model "+m.Name)
}

// printOwnModel prints what was read from a config.json.
func printOwnModel(a *cli.App, m language.Model) {
	if !strings.HasSuffix(m.Name, ".json") {
		return
	}
	active := ""
	if m.Experts > 0 {
		active = ", " + quantity.About(m.Active()/1e9) + " B of them for a token"
	}
	senses := ""
	if m.TextOnly {
		senses = ", and what sees or hears is not counted"
	}
	printRow(a, "model", "%s: %s B parameters%s, %.0f layers of width %.0f%s", safe.Text(m.Title, 200),
		quantity.About(m.Params()/1e9), active, m.Layers, m.Width, senses)
}

// printRow prints a line of the answer.
func printRow(a *cli.App, name, format string, args ...any) {
	fmt.Fprintf(a.Stdout, "%-13s %s\n", name, fmt.Sprintf(format, args...))
}

// leastShown is the smallest share of a step that is printed without --all.
const leastShown = 0.02

// stepShare is a named part of a step.
type stepShare struct {
	name  string
	share float64
}

// describeShares returns the parts with their shares, the largest first. It omits small ones unless all
// are asked for.
func describeShares(parts []stepShare, all bool) (words []string) {
	slices.SortStableFunc(parts, func(a, b stepShare) int { return cmp.Compare(b.share, a.share) })
	for _, p := range parts {
		if p.share >= leastShown || all {
			words = append(words, p.name+" "+quantity.Percent(p.share))
		}
	}
	return words
}
