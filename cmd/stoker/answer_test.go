package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// The hint of an error about a value can be pasted, and the command then runs without that error.
func TestHintsCanBePasted(t *testing.T) {
	const net = "predict --gpu h100-sxm --model resnet50 --batch 8 "
	for line, hint := range map[string]string{
		"predict --gpu rtx --model resnet50 --batch 8":       "--gpu rtx-3090",
		"predict --gpu a100-sxm9 --model resnet50 --batch 8": "--gpu a100-80gb-sxm",
		"predict --gpu h100-sxm --model resnet5 --batch 8":   "--model resnet50",
		"predict --gpu h100-sxm --model resnet50 --batch x":  "--batch 8",
		"predict --gpu h100-sxm --model resnet50":            "--batch 256",
		net + "--storage nvm":                                "--storage nvme",
		net + "--sample 5":                                   "--sample '500 KB'",
		net + "--precision fp12":                             "--precision fp32",
		net + "--nodes 2 --network foo":                      "--network eth-10g",
		net + "--grid xx":                                    "--grid us",
		net + "--for 95x":                                    "--for '95 %'",
		net + "--shard x":                                    "--shard zero1",
		net + "--software compild":                           "--software compiled",
		net + "--gpus 3 --nodes 2":                           "--nodes 1",
		"predict --mlperf llama3-70b":                        "--checkpoint 40GB/s",
		net + "--price x":                                    "--price '$2.50/h'",
		net + "--pue 0.1":                                    "--pue 1.3",
		net + "--kwh x":                                      "--kwh 0.12",
		net + "--link x":                                     "--link pcie3",
		"predict --list foo":                                 "--list gpus",
		"predict --mlperf unet":                              "--mlperf unet3d",
		"predict":                                            "stoker predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage nvme",

		"predict train --gpu h100-sxm --gpus 8 --software fsdp":           "--model llama-3.1-8b",
		"predict train --model llama-3.1-8b --gpus 8 --software fsdp":     "--gpu h100-sxm",
		"predict train --model llama-3.1-8b --gpu h100-sxm --software fs": "--software fsdp",
		"predict train --model llama-3.1-8b --gpu h100-sxm --measured x":  "--measured '4,550 tokens/s'",

		"predict data --demand 5":                     "--demand '2 GB/s'",
		"trace --what-if foo=1 " + clitest.LoaderCase: "--what-if num_workers=4",
		"trace --by foo " + clitest.LoaderCase:        "--by gpu",
		"advise --emit tensorflow " + clitest.LiveRun: "--emit hf",
		"diagnose --grid xx " + clitest.LiveRun:       "--grid us",
		"runs --sort x .":                             "--sort lost",
		"observe --log foo -- true":                   "--log wandb",
		"tune --allow x -- true":                      "stoker tune --help",
		"trace --top x " + clitest.LoaderCase:         "stoker trace --help",
		"agent --listen x":                            "--listen 127.0.0.1:9779",
		net + "--tutorial --roofline":                 "stoker predict --help",
	} {
		args := strings.Fields(line)
		code, _, errs := call(t, args...)
		_, got, _ := strings.Cut(errs, "stoker: hint: ")
		if got = strings.TrimSpace(got); code != cli.ExitUsage || got != hint {
			t.Errorf("stoker %s: code %d, hint %q, want %q: %s", line, code, got, hint, errs)
			continue
		}
		if strings.Contains(hint, "--help") || args[0] == "agent" || args[0] == "observe" { // these would run
			continue
		}
		flag, value, _ := strings.Cut(hint, " ")
		switch at := slices.Index(args, flag); {
		case flag == "stoker":
			args = strings.Fields(value)
		case at >= 0:
			args[at+1] = strings.Trim(value, "'")
		default:
			args = append(args, flag, strings.Trim(value, "'"))
		}
		if code, _, errs := call(t, args...); code == cli.ExitUsage && strings.Contains(errs, flag) {
			t.Errorf("stoker %s: pasted, it is code %d: %s", strings.Join(args, " "), code, errs)
		}
	}
}

// The name of a GPU without its variant means the usual one, and a line lists the others.
func TestGPUWithoutItsVariant(t *testing.T) {
	code, out, errs := call(t, strings.Fields("predict --gpu a100 --model resnet50 --batch 256 --json")...)
	if code != cli.ExitFine || !strings.Contains(errs, "--gpu a100: assumed to be a100-80gb-sxm. Its kinds are a100-40gb-pcie, ") ||
		!strings.Contains(out, `"a100-80gb-sxm"`) || !strings.Contains(out, "assumed, --gpu names another") {
		t.Errorf("code %d: %s%s", code, errs, out)
	}
	if _, _, errs := call(t, strings.Fields("predict --gpu a100-80gb-sxm --model resnet50 --batch 256")...); errs != "" {
		t.Errorf("a kind that is named is assumed: %s", errs)
	}
	if _, _, errs := call(t, strings.Fields("predict train --gpu h100 --model llama-3.1-8b --gpus 8 --software fsdp")...); !strings.Contains(errs, "h100-sxm") {
		t.Errorf("%s", errs)
	}
}
