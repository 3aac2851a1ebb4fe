package predict

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
)

// job is a setting that the built-in tables answer.
func job(more ...string) []string {
	return append(strings.Fields("predict --gpu h100-sxm --model resnet50 --workers 8 --cores 16 --storage nvme"),
		more...)
}

func TestPredict(t *testing.T) {
	clitest.HideOwnRows(t)
	for _, c := range []struct {
		args []string
		want []string // in stdout
	}{
		{[]string{"predict", "--help"}, []string{"--roofline", "--tutorial", "Exit codes:"}},
		{job("--batch", "256"), []string{
			"ResNet-50, training, batch 256 on NVIDIA H100", "precision unnamed",
			"utilisation", "binds", "what idling costs, of 24 GPU hours", "assumed (--sources", "--sources",
		}},
		{job("--batch", "256", "--gpus", "8"), []string{"8 x NVIDIA H100", "of 192 GPU hours", " each"}},
		{
			job("--batch", "256", "--inference", "--software", "eager", "--precision", "bf16", "--pinned", "--sources"),
			[]string{"inference, bf16, eager", "memory pinned (given)"},
		},
		{job("--batch", "256", "--for", "95%"), []string{"what 95 % utilisation takes"}},
		{job("--batch", "256", "--for", "95%", "--gpus", "8", "--cores", "32"), []string{"cores on other nodes (stoker feed --ray)", "Gbit/s"}},
		{job("--batch", "256", "--walls", "--gpus", "8", "--network", "ib-ndr", "--checkpoint", "1GB/s", "--mtbf",
			"24h"), []string{"memory:", "communication: 8 ranks", "goodput"}},
		{job("--batch", "256", "--price", "$2/h", "--kwh", "0.10", "--grid", "fr", "--pue", "1.1", "--hours", "100",
			"--sources"), []string{
			"of 100 GPU hours", "$2 per GPU hour: given", "56 g CO2e/kWh, France",
			"PUE 1.1: given", "$0.1 per kWh: given",
		}},
		{job("--batch", "32..1024"), []string{"over batch", "1024", "samples/s: likely"}},
		{job("--batch", "32..1024", "--csv"), []string{"batch,utilization_ratio", "\n1024,"}},
		{job("--batch", "256", "--storage", "hdd"), []string{"1.68 s", "Read is the limit (storage)", "reads/s"}},
		{
			job("--batch", "256", "--workers", "16", "--storage", "s3"),
			[]string{"1.07 s", "Prepare is the limit (workers, waiting for storage 94.5 % of their time)"},
		},
		{job("--batch", "256", "--storage", "s3", "--access", "sequential"), []string{"10.3 ms"}},
		{job("--batch", "256", "--storage", "fsx-1000"), []string{"What limits the step is unknown", "reads: about"}},
		{job("--batch", "256", "--storage", "fsx-1000", "--reads", "100"), []string{"Read is the limit (storage)"}},
		{
			job("--batch", "256", "--storage", "hdd", "--dataset", "150GB", "--memory", "100GB"),
			[]string{"first epoch", "nothing is in memory yet"},
		},
		{
			[]string{"predict", "--gpu", "h100-sxm", "--model", "resnet50", "--batch", "256"},
			[]string{"utilisation  at most", "What limits the step is unknown", "needs"},
		},
		{
			[]string{"predict", "--gpu", "h100-sxm", "--model", "resnet50", "--batch", "256", "--for", "95%"},
			[]string{"pin_memory", "workers per GPU  unknown", "reads/s"},
		},
		{job("--batch", "256", "--storage", "hdd,nvme"), []string{"over storage", "hdd", "nvme", "152"}},
		{job("--batch", "256", "--storage", "270MB/s,7GB/s"), []string{"over storage", "270 MB/s", "7 GB/s"}},
		{job("--workers", "1..8:1", "--batch", "64,128"), []string{`workers \ batch`}},
		{[]string{"predict", "--gpu", "h100-sxm", "--roofline"}, []string{"295 FLOP/B", "Llama-class 1 B"}},
		{job("--roofline", "--batch", "64"), []string{"input supply", "ResNet-50"}},
		{
			[]string{
				"predict", "--batch", "256", "--step", "103ms", "--sample", "110KB", "--cpu", "250MB/s",
				"--storage", "1.2GB/s", "--decoded", "602KB", "--link", "25GB/s", "--pinned",
			},
			[]string{"batch 256", "Prepare is the limit"},
		},
		{
			[]string{"predict", "--batch", "5"},
			[]string{"utilisation  unknown", "step time: name the model and the GPU"},
		},
		{job("--batch", "256", "--prepare", "unknown"), []string{"prepare: at most"}},
		{
			[]string{"predict", "--gpu", "h100-sxm", "--model", "gpt2", "--tokens", "512", "--batch", "16"},
			[]string{"GPT-2"},
		},
		{[]string{
			"predict", "--gpu", "h100-sxm", "--model", "gpt2", "--data", "rl-simulator", "--batch", "16",
			"--sources",
		}, []string{"Simulator"}},
		// Published: 1.51, 23.1 and 4.44 GB/s at AU 92.5, 93.6 and 70.3 % (DDN, MLPerf Storage v1.0, closed, 8 H100).
		{
			[]string{"predict", "--mlperf", "resnet50", "--gpus", "8", "--for", "92.5%"},
			[]string{"emulated H100", "storage rate  unknown  1.52 GB/s"},
		},
		{
			[]string{"predict", "--mlperf", "unet3d", "--gpus", "8", "--for", "93.6%"},
			[]string{"storage rate  unknown  23.9 GB/s"},
		},
		{
			[]string{"predict", "--mlperf", "cosmoflow", "--gpus", "8", "--gpu", "h100-sxm", "--prepare", "0"},
			[]string{"what 70 % utilisation takes", "4.53 GB/s"},
		},
		{[]string{"predict", "--mlperf", "unet3d", "--gpu", "a100-80gb-sxm"}, []string{"emulated A100", "636 ms"}},
		{
			[]string{"predict", "--mlperf", "unet3d", "--gpu", "b200", "--step", "100ms"},
			[]string{"emulated B200", "100 ms"},
		},
		{
			[]string{"predict", "--mlperf", "llama3-70b", "--checkpoint", "40GB/s", "--mtbf", "24h"},
			[]string{"912 GB takes 22.8 s"},
		},
		{
			[]string{"predict", "--gpu", "h100-sxm", "--model", "unet3d", "--batch", "7", "--gpus", "8", "--for", "90%"},
			[]string{"the upper ends are unknown", "MLPerf Storage emulates 3-D U-Net of H100 with 323 ms"},
		},
		{[]string{"predict", "--tutorial"}, []string{"18.3 %", "5.45x", "!  storage supply", "437"}},
		{[]string{"predict", "--tutorial", "--csv"}, []string{"lesson,what,published"}},
		{[]string{"predict", "--list", "gpus"}, []string{"h100-sxm", "989 TFLOP/s", "data sheet"}},
		{[]string{"predict", "--list", "models"}, []string{"resnet50", "8.18"}},
		{[]string{"predict", "--list", "storage"}, []string{"nvme", "7 GB/s"}},
		{[]string{"predict", "--list", "profiles"}, []string{"imagenet-jpeg", "115 KB"}},
		{[]string{"predict", "--list", "grids", "--csv"}, []string{"name,title,g CO2e/kWh", "fr,France,56"}},
		{[]string{"predict", "--list", "links", "--json"}, []string{`"links"`, `"pcie5"`}},
		{[]string{"predict", "--list", "cpus"}, []string{"zen4"}},
		{[]string{"predict", "--list", "networks"}, []string{"ib-ndr", "50 GB/s", "eth-10g"}},
		{strings.Fields("predict --gpu h100-sxm --model llama-8b --precision bf16 --batch 1 --gpus 8 --shard fsdp " +
			"--recompute --walls"), []string{
			"zero3, recomputed, batch 1 on 8 x NVIDIA H100", "sync      exchange",
			"of 85.5 GB device memory", "8 ranks exchange 64.2 GB",
		}},
		{strings.Fields("predict --gpu h100-sxm --model llama-8b --precision bf16 --batch 1 --gpus 64 --nodes 8 " +
			"--shard zero3 --network 40GB/s --sources"), []string{"64 ranks exchange", "network 40 GB/s"}},
		{
			strings.Fields("predict --gpu h100-sxm --model bert-large --precision bf16 --batch 1 --gpus 64 --nodes 8"),
			[]string{"exchange between ranks: give the network between machines", "unknown"},
		},
		{[]string{
			"predict", "transformation", "--batch", "256", "--sample", "500KB", "--cpu", "2GB/s", "--step",
			"11.74ms",
		}, []string{"18.3 %"}},
	} {
		args := c.args
		if strings.HasPrefix(args[1], "--") {
			args = append(slices.Clone(args), "--all")
		}
		code, out, errs := call(t, args...)
		if code != cli.ExitFine || errs != "" || strings.Contains(out, "NaN") ||
			strings.Contains(strings.ReplaceAll(out, "InfiniBand", ""), "Inf") {
			t.Errorf("stoker %s: code %d, stderr %q\n%s", strings.Join(c.args, " "), code, errs, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("stoker %s: stdout lacks %q:\n%s", strings.Join(c.args, " "), want, out)
			}
		}
	}
}

// The first screen is the answer, what limits it and what decides it; the rest is asked for.
func TestPredictFirstScreen(t *testing.T) {
	clitest.HideOwnRows(t)
	args := strings.Fields("predict --gpu h100-sxm --model resnet50 --batch 256 --workers 8 --cores 16 --storage s3")
	_, out, _ := call(t, args...)
	if lines := strings.Count(strings.TrimSpace(out), "\n"); lines > 11 {
		t.Errorf("%d lines, expected a title and 8 rows:\n%s", lines, out)
	}
	for _, want := range []string{
		"limit        prepare (workers, waiting for storage", "--precision and --software, not named",
		"how soon storage answers, 20 ms to 200 ms (--latency)", "--all lists them",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the first screen lacks %q:\n%s", want, out)
		}
	}
	if _, out, _ := call(t, append(args, "--price", "$2/h")...); !strings.Contains(out, "what idling costs") {
		t.Errorf("with a price the first screen does not say what idling costs:\n%s", out)
	}
}

// A job that waits for 60 % of the time gains nothing of a faster GPU. Its throughput is not the
// device's, and a recording answers the same question.
func TestPredictWorth(t *testing.T) {
	clitest.HideOwnRows(t)
	run := "../../../testdata/cases/labelled-main-thread-jpeg/run.jsonl.gz"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--util 40% --gpu a100-80gb-sxm --to h100-sxm", cli.ExitFine, "on h100-sxm  1x (1x to"},
		{"--util 40% --gpu a100-80gb-sxm --to h100-sxm", cli.ExitFine, "waits        14.4 of 24 GPU hours, $"},
		{"--util 40% --gpu a100-80gb-sxm --price $2/h --hours 100", cli.ExitFine, "60 of 100 GPU hours, $120"},
		{"--util 40% --gpu a100-80gb-sxm --gpus 8", cli.ExitFine, "115 of 192 GPU hours"},
		{"--util 40% --gpu a100-80gb-sxm", cli.ExitFine, "next         stoker observe"},
		{"--util 40% --gpu a100-80gb-sxm --all", cli.ExitFine, "GPU-Util of nvidia-smi counts any kernel as busy"},
		{"--util 40% --to h100-sxm", cli.ExitUsage, "hint: --gpu a100"},
		{"--util 140%", cli.ExitUsage, "such as 40%"},
		{"--model resnet50 --gpu h100-sxm --batch 256 --workers 32 --cores 8 --storage nvme", cli.ExitFine, "12 do as much as 32"},
		{run + " --to h100-sxm --workers 8", cli.ExitFine, "all of it"},
		{"../../../testdata/cases/gpu-few-workers/run.jsonl.gz --workers 32", cli.ExitFine, "4\n               workers do as much"},
		{run + " --storage nvme", cli.ExitFine, "storage nvme"},
		{run + " --util 40%", cli.ExitUsage, "leave --util out"},
		{run + " --batch 512", cli.ExitUsage, "a recording tells it itself: leave --batch out"},
		{run + " --cores 0", cli.ExitUsage, "--cores is 0: expected more than 0"},
		{"--util 40% --storage nvme", cli.ExitUsage, "leave --storage out"},
		{"--to h100-sxm --batch 256", cli.ExitUsage, "--to goes with a recording or with --util"},
		{"../../../testdata/cases/labelled-not-training/run.jsonl.gz", cli.ExitUsage, "no steps were seen"},
	} {
		code, out, errs := call(t, append([]string{"predict"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("stoker predict %s: code %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
		if lines := strings.Count(strings.TrimSpace(out), "\n"); code == cli.ExitFine && !strings.Contains(c.args, "--all") && lines > 9 {
			t.Errorf("stoker predict %s: %d lines below the title, expected 8 at most:\n%s", c.args, lines-1, out)
		}
	}
	starved := []string{"predict", "--model", "resnet50", "--measured", "1000 samples/s at batch 256 on a100-80gb-sxm"}
	if _, _, errs := call(t, starved...); !strings.Contains(errs, "say how busy its GPU was, such as --util 40%") {
		t.Errorf("a step of a job that waits is taken for the device's: %s", errs)
	}
	_, out, errs := call(t, append(starved, "--util", "40%", "--all")...)
	if errs != "" || !strings.Contains(out, "102 ms") {
		t.Errorf("40 %% of 256 ms are not the device's step:\n%s%s", out, errs)
	}
}

// MLPerf Storage has no GPUs: one host emulates dozens. A range of them says how many storage feeds.
func TestPredictManyEmulated(t *testing.T) {
	clitest.HideOwnRows(t)
	for _, c := range []struct{ args, want string }{
		{"--mlperf unet3d --gpus 36", "device needs"},
		{"--mlperf resnet50 --gpus 51", "device needs"},
		{"--mlperf resnet50 --gpus 1,2,4,64 --storage 10GB/s --workers 16", "64"},
	} {
		code, out, errs := call(t, append([]string{"predict"}, strings.Fields(c.args)...)...)
		if code != cli.ExitFine || !strings.Contains(out, c.want) {
			t.Errorf("stoker predict %s: code %d, want %q:\n%s%s", c.args, code, c.want, out, errs)
		}
	}
}

// Names are understood in the spellings of PyTorch, timm and the hub.
func TestPredictSpellings(t *testing.T) {
	clitest.HideOwnRows(t)
	for _, c := range []struct{ args, want string }{
		{"--precision bfloat16", "bf16, batch 256"},
		{"--precision torch.float16", "fp16, batch 256"},
		{"--precision bf16-mixed", "bf16, batch 256"},
		{"--software pytorch", "eager, batch 256"},
		{"--software jax", "compiled, batch 256"},
		{"--model torchvision.models.resnet50", "ResNet-50, training"},
		{"--model timm/resnet50.a1_in1k", "ResNet-50, training"},
		{"--storage NVMe --workers 8 --cores 16", "utilisation"},
		{"--storage S3 --access WebDataset --workers 8 --cores 16", "utilisation"},
	} {
		code, out, errs := call(t, job(append([]string{"--batch", "256"}, strings.Fields(c.args)...)...)...)
		if code != cli.ExitFine || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d, stdout lacks %q:\n%s%s", c.args, code, c.want, out, errs)
		}
	}
	for _, p := range []string{"awq", "w4a16", "int4"} {
		code, out, errs := call(t, "predict", "serve", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--precision", p, "--json")
		if code != cli.ExitFine || !strings.Contains(out, `"precision": "int4"`) {
			t.Errorf("--precision %s: code %d\n%s%s", p, code, out, errs)
		}
	}
}

// serverRun is a recorded server.
const serverRun = "../../../testdata/cases/server-one-at-a-time/run.jsonl.gz"

func TestPredictBadInput(t *testing.T) {
	clitest.HideOwnRows(t)
	for _, c := range []struct {
		args []string
		want string // in stderr
	}{
		{[]string{"predict"}, "hint: stoker predict --gpu h100-sxm"},
		{[]string{"predict", "foo"}, "foo: no such file"},
		{[]string{"predict", "--mlperf", "unet"}, "expected one of resnet50, unet3d, cosmoflow"},
		{[]string{"predict", "--mlperf", "unet3d", "--model", "unet3d"}, "leave --model"},
		{[]string{"predict", "--mlperf", "unet3d", "--gpu", "b200"}, "--step 100ms"},
		{[]string{"predict", "--mlperf", "llama3-8b"}, "--checkpoint 40GB/s"},
		{[]string{"predict", "--mlperf", "unet3d", "--gpus", "36", "--nodes", "5"}, "such as --nodes 6"},
		{job(), "--batch is missing"},
		{job("--batch", "0"), "--batch is 0: expected more than 0"},
		{job("--batch", "-3"), "negative"},
		{job("--batch", "1.5"), "not a whole number"},
		{job("--batch", "NaN"), "does not begin with a number"},
		{job("--batch", "1e300"), "batch"},
		{job("--batch", "256", "--link", "gds", "--workers", "4"), "the device reads by itself"},
		{[]string{"predict", "--step", "1s", "--batch", "4", "--link", "gds"}, "name the --gpu"},
		{job("--batch", "256", "--sample", "1PB"), "--sample is 1 PB, more than any job has: expected at most 32 TB"},
		{job("--batch", "256", "--storage", "1000TB/s"), "--storage is 1 PB/s, more than any job has"},
		{job("--batch", "100000"), "the largest batch that fits is about"},
		{job("--batch", "256..32"), "begins above its end"},
		{job("--batch", "1,024"), "write one thousand as 1000"},
		{job("--batch", "0..64"), "batch is 0: expected"},
		{job("--batch", "1..1000:1", "--workers", "1..2000:1"), "at most 1000000"},
		{job("--batch", "1..4", "--cores", "1..4", "--workers", "1..4"), "3 settings have a range"},
		{job("--batch", "256", "--sample", "110"), "has no unit"},
		{job("--batch", "256", "--sample", "0KB"), "--sample is 0 B"},
		{job("--batch", "256", "--storage", "hdd,7GB/s"), "expected classes or rates"},
		{job("--batch", "256", "--access", "tape"), "expected files"},
		{job("--batch", "256", "--latency", "150"), "no unit"},
		{job("--batch", "256", "--reads", "-1"), "negative"},
		{job("--batch", "256", "--dataset", "150GB"), "--memory go together"},
		{job("--batch", "256", "--dataset", "150GB", "--memory", "1TB", "--cached", "50%"), "give one"},
		{job("--batch", "256", "--gpus", "500"), "--nodes 100"},
		{job("--batch", "256", "--gpus", "36"), "--nodes 6"},
		{job("--batch", "256", "--step", "1ms"), "a step of 1 ms at batch 256: ResNet-50 on NVIDIA H100 80GB HBM3 would compute at"},
		{job("--batch", "256", "--gpus", "1..500"), "--nodes"},
		{job("--batch", "256", "--gpus", "500", "--nodes", "63"), "as many GPUs on each machine"},
		{job("--batch", "256", "--storage", "2GB"), "is a size, expected a rate"},
		{job("--batch", "256", "--storage", "nvmee"), "nearest: nvme"},
		{job("--batch", "256", "--storage", "0 GB/s"), "expected more than 0"},
		{job("--batch", "256", "--gpu", "rtx"), "nearest: rtx-3090, rtx-4090"},
		{job("--batch", "256", "--model", "resnet5"), "nearest: resnet50"},
		{job("--batch", "256", "--model", "yolov8"), "--flops, --bytes and --params, which stoker.count"},
		{job("--batch", "256", "--gpu", "quadro"), "stoker: hint: stoker predict --list gpus\n"},
		{job("--batch", "256", "--gpu", "rtx5080"), "give its row in a file: --hardware FILE"},
		{job("--batch", "256", "--data", "imagnet"), "nearest: imagenet-jpeg"},
		{job("--batch", "256", "--data", "llm-tokens"), "counted by the token"},
		{job("--batch", "256", "--grid", "xx"), "is not in the table"},
		{job("--batch", "256", "--link", "pcie9"), "nearest: pcie"},
		{job("--batch", "256", "--cached", "150%"), "more than the whole"},
		{job("--batch", "256", "--precision", "fp12"), "expected fp32"},
		{job("--batch", "256", "--gpu", "v100-sxm-16gb", "--precision", "bf16"), "stoker: hint: --precision fp16\n"},
		{strings.Fields("predict --gpu t4 --precision bf16 --roofline"), "stoker: hint: --precision fp16\n"},
		{job("--batch", "256", "--gpu", "t4", "--precision", "bf16"), "know fp16 and no bf16"},
		{job("--batch", "256", "--gpu", "t4", "--precision", "tf32"), "stoker: hint: --precision fp32\n"},
		{job("--batch", "256", "--gpu", "a100-80gb-sxm", "--precision", "fp8"), "stoker: hint: --precision bf16\n"},
		{job("--batch", "256", "--shard", "zero9"), "expected zero1, zero2, zero3 or fsdp"},
		{job("--batch", "256", "--shard", "zero3", "--inference"), "sharding is for training"},
		{job("--batch", "256", "--recompute", "--inference"), "nothing is recomputed"},
		{job("--batch", "256", "--network", "ib-ndrr"), "nearest: ib-ndr"},
		{
			strings.Fields("predict --gpu h100-sxm --model llama-8b --batch 1"),
			"stoker: hint: --shard zero3 --gpus 8 --recompute\n",
		},
		{
			strings.Fields("predict --gpu a100-40gb-sxm --model llama-8b --batch 1 --gpus 8 --shard zero3"),
			"stoker: hint: --recompute\n",
		},
		{job("--batch", "256", "--software", "fast"), "expected eager"},
		{job("--batch", "256", "--tokens", "5"), "no sequences"},
		{job("--batch", "256", "--cpu", "1GB/s", "--prepare", "1ms"), "give one"},
		{job("--batch", "256", "--cpu", "zen5", "--prepare", "1ms"), "give one"},
		{job("--batch", "256", "--cpu", "zen7"), "nearest: zen4, zen5"},
		{job("--batch", "256", "--cpu", "zen4,zen5"), "is not in the table"},
		{job("--batch", "256", "--cpu", "zen5", "--data", "video"), "not known to be JPEGs"},
		{job("--batch", "256", "--for", "0%"), "target is 0"},
		{job("--batch", "256", "--for", "120%"), "more than the whole"},
		{job("--batch", "1..64", "--for", "95%"), "leave the range out"},
		{job("--batch", "256", "--price", "2"), "no unit"},
		{job("--batch", "256", "--pue", "0.5"), "expected 1 or more"},
		{job("--batch", "256", "--kwh", "a"), "such as 0.12"},
		{job("--batch", "256", "--hardware", "/nonexistent/rows.json"), "no such file"},
		{job("--batch", "256", "-o", "a.svg"), "give one or two settings a range"},
		{job("--batch", "1..64", "-o", "a.pdf"), "ends in .svg"},
		{job("--batch", "1..64", "--json", "--csv"), "choose one"},
		{job("--batch", "256", "--workers", "1000000000"), "--workers is 1000000000, more than any job has: expected at most 10000"},
		{job("--batch", "256", "--cores", "0.0001"), "--cores is 0.0001, less than any job has: expected at least 0.01"},
		{job("--batch", "256", "--latency", "1000h"), "--latency is 3600000 s, more than any job has"},
		{job("--batch", "256", "--spread", "1000"), "--spread is 1000, more than any job has"},
		{job("--batch", "256", "--price", "$1000000/h"), "--price is 1000000 $/h, more than any job has"},
		{job("--batch", "256", "--workers", "1..100000"), "--workers is 100,000, more than any job has"},
		{job("--batch", "256", "--storage", "1B/s"), "--storage is 1 B/s, less than any job has: expected at least 1 KB/s"},
		{job("--batch", "256", "--model", "llama-2-7b"), "hint: stoker predict train --model llama-2-7b"},
		{job("--batch", "256", "--model", "t5"), "hint: stoker predict --list models"},
		{job("--batch", "256", "--data", "webdataset"), "hint: --access sequential"},
		{job("--batch", "256", "--gpu", "h100 nvl"), "nearest: h100-sxm, h100-pcie"},
		{[]string{"predict", "tarin", "--model", "llama-3.1-8b"}, "hint: stoker predict train --help"},
		{[]string{"predict", serverRun, "--workers", "1000000"}, "more than any job has: expected at most 10000"},
		{[]string{"predict", "serve", "--run", serverRun, "--load", "abc"}, "expected requests a second"},
		{[]string{"predict", "serve", "--run", serverRun, "--max-batch", "0"}, "expected 1 to 1000000"},
		{[]string{"predict", "serve", "--run", serverRun, "--tp", "2"}, "leave --tp out"},
		{[]string{"predict", "serve", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--load", "5"}, "name its recording with --run"},
		{job("--batch", ""), "--batch is empty: give it a value, or leave it out"},
		{[]string{"predict", "train", "--model", "llama-3.1-8b", "--gpu", " "}, "--gpu is empty"},
		{[]string{"predict", "serve", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--gpus", "4"}, "hint: --tp 2"},
		{[]string{"predict", "--batch", "5", "--for", "90%"}, "time of a step is unknown"},
		{[]string{"predict", "--roofline"}, "needs --gpu"},
		{[]string{"predict", "--tutorial", "--list", "gpus"}, "ask one"},
		{[]string{"predict", "--list", "nix"}, "expected one of gpus"},
	} {
		code, out, errs := call(t, c.args...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "stoker: error: ") ||
			out != "" {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s%s", strings.Join(c.args, " "), code,
				cli.ExitUsage, c.want, errs, out)
		}
	}
}

// Each question's JSON parses and answers it.
func TestPredictJSON(t *testing.T) {
	clitest.HideOwnRows(t)
	for field, args := range map[string][]string{
		"prediction": job("--batch", "256", "--json"),
		"sizing":     job("--batch", "256", "--json", "--for", "90%"),
		"walls":      job("--batch", "256", "--json", "--walls"),
		"waste":      job("--batch", "256", "--json"),
		"sweep":      job("--batch", "32..64", "--json"),
		"roofline":   {"predict", "--gpu", "a100-80gb-sxm", "--roofline", "--json"},
		"lessons":    {"predict", "--tutorial", "--json"},
	} {
		code, out, errs := call(t, args...)
		var object map[string]any
		if err := json.Unmarshal([]byte(out), &object); err != nil || code != cli.ExitFine || object[field] == nil {
			t.Errorf("stoker %s: code %d, %v, %q is %v\n%s", strings.Join(args, " "), code, err, field, object[field],
				errs)
		}
	}
}

// Pictures are whole, and nothing else is left beside them.
func TestPredictDraws(t *testing.T) {
	clitest.HideOwnRows(t)
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"sweep": job("--batch", "32..1024"), "grid": job("--batch", "32..256", "--workers", "1..16"),
		"roofline": {"predict", "--gpu", "h100-sxm", "--roofline", "--storage", "nvme"},
	} {
		file := filepath.Join(dir, name+".svg")
		code, out, errs := call(t, append(args, "-o", file)...)
		if code != cli.ExitFine || out == "" || !strings.Contains(errs, file+" is written") {
			t.Errorf("%s: code %d, stderr %q", name, code, errs)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("%d files, want 3: %v", len(entries), entries)
	}
	code, _, errs := call(t, job("--batch", "1..4", "-o", filepath.Join(dir, "absent", "a.svg"))...)
	if code != cli.ExitError || !strings.Contains(errs, "no such file") {
		t.Errorf("a folder that is not there: code %d, %q", code, errs)
	}
}

// The user's own rows are found, by name or in the configuration folder.
func TestPredictOwnRows(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	rows := `{"gpus": [{"name": "ours", "like": "h100-sxm", "price": {"value": "$1.10/h", "source": "our books"}}], "storages": [{"name": "attic", "rate": "40 MB/s", "iops": "2,000", "latency": "1 ms", "source": "dd"}]}`
	file := filepath.Join(config, "stoker", "hardware.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields("predict --gpu ours --model resnet50 --batch 256 --workers 8 --cores 16 --storage " +
		"attic --sources")
	code, out, errs := call(t, args...)
	for _, want := range []string{"our books", "40 MB/s", "Read is the limit (storage)"} {
		if code != cli.ExitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, stdout lacks %q:\n%s%s", code, want, out, errs)
		}
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if code, _, _ := call(t, args...); code != cli.ExitUsage {
		t.Errorf("without the file: code %d", code)
	}
	if code, _, errs := call(t, append(args, "--hardware", file)...); code != cli.ExitFine {
		t.Errorf("with --hardware: code %d, %s", code, errs)
	}
	if err := os.WriteFile(file, []byte(`{"gpus": [{"nam": "x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, append(args, "--hardware", file)...); code != cli.ExitUsage ||
		!strings.Contains(errs, file) {
		t.Errorf("a bad file: code %d, %s", code, errs)
	}
}

// words are those of a command line with single quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// Every command that the documentation and the help show really runs.
func TestPredictExamplesRun(t *testing.T) {
	clitest.HideOwnRows(t)
	var page []byte
	for _, name := range []string{"../../../README.md", "../../../docs/gains.md", "../../../predict/RESULTS.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, text...)
	}
	help := Command(&cli.App{}).Example
	run, err := os.ReadFile("../../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir(judged.Folder, 0o700),
		os.WriteFile(judged.Folder+"/RUN.jsonl.gz", run, 0o600)); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(page) + "\n" + help) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "bin/"); !strings.HasPrefix(line, "stoker predict ") {
			continue
		}
		ran++
		args := words(strings.TrimPrefix(line, "stoker "))
		if code, _, errs := call(t, args...); code != cli.ExitFine {
			t.Errorf("%s: code %d, %s", line, code, errs)
		}
	}
	if ran < 18 {
		t.Errorf("only %d examples were found", ran)
	}
}
