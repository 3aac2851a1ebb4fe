package predict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report/wire"
)

// serveCommand makes stoker predict serve, about a language model that answers requests.
func serveCommand(a *cli.App) *cobra.Command {
	f := &languageFlags{say: a.Say}
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
		Args: withoutEmpty(cli.AtMost(0)),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := recorded.checkFlags(cmd.Flags()); err != nil {
				return cli.AsUsage(err)
			}
			if recorded.file != "" {
				return printLoads(a, recorded)
			}
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
	cmd.SetFlagErrorFunc(suggestTensor)
	f.register(cmd, language.ServingStacks, string(language.UsualServing))
	recorded.register(cmd)
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
		cli.Section{Title: "A recorded server", Names: "run load max-batch"},
		cli.Section{Title: "Answer", Names: "all json"},
	)
	return cmd
}

// suggestTensor hints at --tp if the unknown flag is --gpus, which predict train has.
func suggestTensor(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "gpus" {
		return cli.AsUsage(hint.Attach(errors.New("predict serve has no flag --gpus: --tp says how many GPUs share the "+
			"model, and each further replica takes as many requests again"), "--tp 2"))
	}
	if parent := cmd.Parent(); parent != nil {
		return parent.FlagErrorFunc()(cmd, err)
	}
	return cli.AsUsage(err)
}

// servingPrograms maps names of programs to their serving stack.
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
	for _, one := range []struct {
		flag string
		into *float64
	}{
		{"tp", &s.Tensor},
		{"input", &s.Input},
		{"output", &s.Output},
		{"batch", &s.Batch},
		{"guesses", &s.Guesses},
	} {
		*one.into = f.readNumber(one.flag, &err)
	}
	f.assumeUsual("tp", "%s GPU", s.Tensor)
	f.assumeUsual("input", "prompts of %s tokens", s.Input)
	f.assumeUsual("output", "answers of %s tokens", s.Output)
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

// printServing prints the answer in eight lines: the rates, what limits them, and what was assumed.
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
