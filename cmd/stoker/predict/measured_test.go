package predict

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

const measured2470 = "2,470 samples/s at batch 256 on a100-80gb-sxm in fp16, channels-last"

// stepOf is the device's part of a step of a prediction, and what it rests on.
func stepOf(t *testing.T, args ...string) (low, point, high float64, source string) {
	t.Helper()
	code, out, errs := call(t, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("%q: exit %d, %s", args, code, errs)
	}
	var answer struct {
		Stages []struct {
			Resource string
			Source   string
			Time     *struct{ Low, Point, High float64 } `json:"time_s"`
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Stages {
		if s.Resource == "gpu" && s.Time != nil {
			return s.Time.Low, s.Time.Point, s.Time.High, s.Source
		}
	}
	t.Fatalf("%q: no device in %s", args, out)
	return 0, 0, 0, ""
}

// A measured step comes back at its own setting, and is carried over to others.
func TestPredictMeasured(t *testing.T) {
	clitest.HideOwnRows(t)
	low, point, high, source := stepOf(t, "predict", "--model", "resnet50", "--measured", measured2470)
	if point < 0.101 || point > 0.106 || high/low > 1.25 {
		t.Errorf("a measured step of 103.6 ms is %v (%v to %v)", point, low, high)
	}
	if !strings.HasPrefix(source, "measured: 2,470 samples/s at batch 256") {
		t.Errorf("source %q", source)
	}
	_, other, _, source := stepOf(t, "predict", "--model", "resnet50", "--measured", measured2470, "--gpu",
		"h100-sxm", "--batch", "512")
	if other < 0.08 || other > 0.16 || !strings.Contains(source, "carried from NVIDIA A100-SXM4-80GB to NVIDIA H100") {
		t.Errorf("%v s at batch 512 on an H100, source %q", other, source)
	}
	low, point, high, source = stepOf(t, "predict", "--model", "resnet50", "--like",
		"../../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if low > 0.039 || high < 0.036 || point > 0.045 || !strings.Contains(source, "emulated") {
		t.Errorf("a recorded step of 36 to 39 ms is %v (%v to %v), source %q", point, low, high, source)
	}
}

// What was measured stands in the answer beside what was expected, so that a slip is
// seen, and an emulated device is called so.
func TestPredictMeasuredSaysWhat(t *testing.T) {
	clitest.HideOwnRows(t)
	_, out, _ := call(t, "predict", "--model", "resnet50", "--like",
		"../../../testdata/cases/labelled-healthy/run.jsonl.gz", "--all")
	for _, want := range []string{"measured 60 ms per step on an emulated device, and", "would be expected"} {
		if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, want) {
			t.Errorf("%q is not in %s", want, flat)
		}
	}
}

// What cannot be carried is refused, with what to give instead.
func TestPredictMeasuredRefuses(t *testing.T) {
	clitest.HideOwnRows(t)
	run := "../../../testdata/cases/labelled-too-few-workers/run.jsonl.gz"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--measured", measured2470}, "stoker: hint: --model resnet50\n"},
		{
			[]string{"--model", "resnet50", "--measured", "2,470 samples/s"},
			"stoker: hint: --measured '2,470 samples/s at batch 256 on a100-80gb-sxm'\n",
		},
		{[]string{"--model", "resnet50", "--measured", "2,470 GB/s at batch 256"}, "expected a rate of samples"},
		{
			[]string{"--model", "resnet50", "--measured", "9 ms at batch 1 on a100"},
			`--measured: gpu "a100" is not in the table, nearest: a100`,
		},
		{[]string{"--model", "resnet50", "--measured", measured2470, "--like", run}, "give one"},
		{[]string{"--model", "resnet50", "--measured", measured2470, "--step", "1ms"}, "give one"},
		{[]string{
			"--model", "resnet50", "--measured", measured2470, "--software", "compiled", "--inference",
			"--precision", "int9",
		}, "expected fp32"},
		{[]string{"--model", "resnet50", "--measured", "9 ms at batch 1"}, "memory bandwidth of this GPU is not known"},
		{[]string{"--model", "resnet50", "--measured", "9 ms at batch 1, 512 tokens"}, "no sequences"},
		{[]string{"--model", "resnet50", "--like", "nowhere.jsonl.gz"}, "--like: read recording: open nowhere"},
	} {
		code, _, errs := call(t, append([]string{"predict"}, c.args...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d, %q, want %q in it", c.args, code, errs, c.want)
		}
	}
}

// A network that is described by its figures gets about the step of the same one
// in the table, with a wider interval; a measured step narrows it.
func TestPredictOwnNetwork(t *testing.T) {
	clitest.HideOwnRows(t)
	own := strings.Fields("predict --flops 8.18GFLOP --bytes 88.9MB --params 25.6M")
	gpu := strings.Fields("--gpu a100-80gb-sxm --batch 256 --precision fp16 --software channels-last")
	_, known, _, _ := stepOf(t, append(strings.Fields("predict --model resnet50"), gpu...)...)
	low, point, high, source := stepOf(t, append(own, append(gpu, "--layers", "53", "--family", "convnet")...)...)
	if point/known > 1.3 || known/point > 1.3 || low > known || high < known ||
		!strings.Contains(source, "no published step of this one") {
		t.Errorf("%v (%v to %v) s, of the network in the table %v; source %q", point, low, high, known, source)
	}
	anyLow, _, anyHigh, source := stepOf(t, append(own, gpu...)...)
	if anyLow > low || anyHigh < high || !strings.Contains(source, "any kind of network") {
		t.Errorf("of any kind: %v to %v s, of a known one %v to %v; source %q", anyLow, anyHigh, low, high, source)
	}
	low, point, high, _ = stepOf(t, append(own, "--measured", measured2470)...)
	if point < 0.101 || point > 0.106 || high/low > 1.6 {
		t.Errorf("with a measured step: %v (%v to %v) s", point, low, high)
	}
	for _, c := range []struct{ args, want string }{
		{"--flops 8GFLOP --params 25M", "--bytes is missing"},
		{"--family convnet", "stoker: hint: --flops 8.18GFLOP --bytes 89MB"},
		{"--model resnet50 --flops 8GFLOP", "give either"},
		{"--flops 8GB --bytes 89MB --params 25.6M", "is a size, expected an amount of computation"},
		{"--flops 8GFLOP --bytes 89MB --params many", "--params"},
		{"--flops 8GFLOP --bytes 89MB --params 0", "--params"},
		{"--flops 8GFLOP --bytes 89MB --params 9e30T", "expected 1 to 1e18"},
		{"--flops 8GFLOP --bytes 89MB --params 25.6M --layers 0", "--layers is 0"},
		{"--flops 8GFLOP --bytes 89MB --params 25.6M --kept 1GB/s", "is a rate"},
		{"--flops 8GFLOP --bytes 89MB --params 25.6M --family rnn", "expected convnet, transformer or volume"},
	} {
		code, _, errs := call(t, append(strings.Fields("predict --gpu a100-80gb-sxm --batch 8 "),
			strings.Fields(c.args)...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %q, want %q in it", c.args, code, errs, c.want)
		}
	}
}
