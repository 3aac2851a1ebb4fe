package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// The two cases are runs of one program: loading in the loop, and in one worker.
const (
	slowCase = "../../../testdata/cases/trace-loader/trace.json.gz"
	fastCase = "../../../testdata/cases/trace-workers/trace.json.gz"
)

// Two traces that are not ranks of one run are compared step by step. Five active steps, as the
// manual says, are enough.
func TestTwoTracesAreCompared(t *testing.T) {
	for _, verb := range []string{"trace", "verify"} {
		code, out, errs := call(t, verb, slowCase, fastCase)
		for _, want := range []string{"per step", "idle: data-loader", "work by name", "calls that launch", "n 5"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", verb, want, out)
			}
		}
		if code != cli.ExitFine || errs != "" {
			t.Errorf("%s: exit %d, stderr %q", verb, code, errs)
		}
	}
	code, out, _ := call(t, "trace", "--json", slowCase, fastCase)
	var o struct {
		Outcome struct {
			Speedup struct{ Point float64 }
			Before  struct{ Steps int }
		}
		Alike float64
		Work  []struct{ Group, Name string }
	}
	if err := json.Unmarshal([]byte(out), &o); err != nil || code != cli.ExitFine || o.Outcome.Before.Steps < 3 || !(o.Alike > 0.9) || len(o.Work) == 0 {
		t.Errorf("exit %d, %v: %+v", code, err, o)
	}
	if _, out, _ := call(t, "trace", "--csv", slowCase, fastCase); !strings.HasPrefix(out, "group,name,unit,before") || !strings.Contains(out, "\nkernel,") {
		t.Errorf("%s", out)
	}
	if _, out, _ := call(t, "trace", "--what-if", "num_workers=1", slowCase, fastCase); !strings.Contains(out, "promised") || !strings.Contains(out, "achieved") {
		t.Errorf("no promise in\n%s", out)
	}
}

// Recordings by trace -o are compared like the files that they were made from.
func TestRecordingsOfTracesAreCompared(t *testing.T) {
	dir := t.TempDir()
	var recs []string
	for _, file := range []string{slowCase, fastCase} {
		rec := filepath.Join(dir, filepath.Base(filepath.Dir(file))+".jsonl.gz")
		if code, _, errs := call(t, "trace", "-o", rec, file); code != cli.ExitFine {
			t.Fatal(errs)
		}
		recs = append(recs, rec)
	}
	code, out, errs := call(t, "verify", recs[0], recs[1])
	if code != cli.ExitFine || !strings.Contains(out, "work by name") {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
}

func TestDifferentProgramsAreRefused(t *testing.T) {
	one := clitest.WriteTrace(t, "a.json", 0, 1)
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "b.json")
	text := strings.NewReplacer("aten::mm", "aten::convolution", "ampere_sgemm_64x64_nn", "fprop_kernel").Replace(string(data))
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := call(t, "trace", one, other)
	if !strings.Contains(out, "different programs") || strings.Contains(out, "faster") || !strings.Contains(out, "gone") {
		t.Errorf("%s", out)
	}
}

// Operators of all programs, such as aten::t and aten::empty, do not make two programs count as the
// same, nor does an operator that takes most of one and very little of the other.
func TestNetworksOfCommonOperatorsAreDifferent(t *testing.T) {
	dir := t.TempDir()
	mlp := networkFile(t, filepath.Join(dir, "mlp.json"), [][2]string{{"aten::addmm", "ampere_sgemm_128x64_tn"}, {"aten::addmm", "ampere_sgemm_128x64_tn"}, {"aten::relu", "elementwise_relu"}})
	conv := networkFile(t, filepath.Join(dir, "conv.json"), [][2]string{{"aten::convolution", "cudnn_fprop"}, {"aten::convolution", "cudnn_dgrad"}, {"aten::convolution", "cudnn_wgrad"}, {"aten::batch_norm", "bn_fw"}, {"aten::addmm", "ampere_sgemm_32x32_tn"}})
	_, out, _ := call(t, "trace", mlp, conv)
	if !strings.Contains(out, "different programs") || strings.Contains(out, "faster") || strings.Contains(out, "slower") || strings.Contains(out, "promise") {
		t.Errorf("%s", out)
	}
	half := networkFile(t, filepath.Join(dir, "half.json"), [][2]string{{"aten::addmm", "ampere_bf16_s16816gemm"}, {"aten::addmm", "ampere_bf16_s16816gemm"}, {"aten::relu", "elementwise_relu_bf16"}})
	if _, out, _ := call(t, "trace", mlp, half); strings.Contains(out, "different programs") {
		t.Errorf("another precision is called another program:\n%s", out)
	}
}

// networkFile writes a trace of six steps. Its operators launch a kernel each, among many calls that
// launch nothing.
func networkFile(t *testing.T, file string, layers [][2]string) string {
	t.Helper()
	var events []string
	put := func(cat, name string, from, dur, tid int, args string) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"ts":%d,"dur":%d,"pid":1,"tid":%d,"args":{%s}}`, cat, name, from, dur, tid, args))
	}
	n := 0
	for step := range 6 {
		at := 10_000 * step
		put("user_annotation", fmt.Sprintf("ProfilerStep#%d", step), at, 9990, 1, "")
		for i, layer := range layers {
			from := at + 1000*i
			put("cpu_op", layer[0], from, 100, 1, "")
			for k := range 10 {
				put("cpu_op", []string{"aten::t", "aten::empty"}[k%2], from+2+2*k, 1, 1, "")
			}
			n++
			put("cuda_runtime", "cudaLaunchKernel", from+50, 5, 1, fmt.Sprintf(`"correlation":%d`, n))
			put("kernel", layer[1], from+70, 900, 7, fmt.Sprintf(`"correlation":%d,"device":0,"stream":7`, n))
		}
	}
	text := `{"schemaVersion":1,"traceEvents":[` + strings.Join(events, ",") + "]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Only changes that the files show are compared with a promise. Here loading moved into a worker,
// and no other advice was followed.
func TestOnlyWhatWasChangedIsAPromise(t *testing.T) {
	_, out, _ := call(t, "trace", "--json", slowCase, fastCase)
	var o struct {
		Promises []struct{ Fix string }
	}
	if err := json.Unmarshal([]byte(out), &o); err != nil || len(o.Promises) != 1 || o.Promises[0].Fix != "num_workers" {
		t.Errorf("%v: %+v", err, o.Promises)
	}
}

// The shares of a comparison are the same as in the verdict on the file.
func TestSharesOfTheComparisonAreTheVerdicts(t *testing.T) {
	shares := func(out string) (kernel float64) {
		var o struct {
			Shares struct{ Kernel float64 }
			Rows   []struct {
				Group, Name string
				After       struct{ Mean float64 }
			}
		}
		if err := json.Unmarshal([]byte(out), &o); err != nil {
			t.Fatal(err)
		}
		for _, r := range o.Rows {
			if r.Group == "share" && r.Name == "kernel" {
				return r.After.Mean
			}
		}
		return o.Shares.Kernel
	}
	const uneven = "../../../testdata/cases/trace-allocator/trace.json.gz"
	_, alone, _ := call(t, "trace", "--json", uneven)
	_, pair, _ := call(t, "trace", "--json", slowCase, uneven)
	if a, b := shares(alone), shares(pair); math.Abs(a-b) > 1e-9 {
		t.Errorf("kernels take %.4f of the window, %.4f of the comparison's", a, b)
	}
}

func TestRanksOfOneRunAreStillOneRun(t *testing.T) {
	if _, out, _ := call(t, "trace", "--all", clitest.WriteTrace(t, "a.json", 0, 2), clitest.WriteTrace(t, "b.json", 1, 2)); !strings.Contains(out, "ranks") || strings.Contains(out, "work by name") {
		t.Errorf("%s", out)
	}
}

func TestStandardInputIsATrace(t *testing.T) {
	data, err := os.ReadFile(slowCase)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"trace", "-"}, strings.NewReader(string(data)), &out, &errs); code != cli.ExitFine || !strings.Contains(out.String(), "main-thread-loader") {
		t.Errorf("exit %d: %s\n%s", code, errs.String(), out.String())
	}
}

func TestTooFewSteps(t *testing.T) {
	one := "../../../testdata/cases/trace-warm-up/trace.json.gz"
	if code, out, _ := call(t, "verify", one, one); code != cli.ExitError || !strings.Contains(out, "not compared") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// Of many ranks, the table shows the worst.
func TestManyRanksAreShownByTheWorst(t *testing.T) {
	dir := t.TempDir()
	for rank := range 20 { // as in containers, every rank has the same process number
		data, err := os.ReadFile(clitest.WriteTrace(t, "t.json", rank, 20))
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, fmt.Appendf(nil, `"pid":%d`, 100+rank), []byte(`"pid":100`))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("rank%d.json", rank)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := call(t, "trace", "--all", dir)
	if code != cli.ExitFine || !strings.Contains(out, "the 10 of 20") || strings.Count(out, "also occur") != 1 || !strings.Contains(out, "of 19 ranks") {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
}
