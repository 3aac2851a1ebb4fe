//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/tune"
	"github.com/stoker-dev/stoker/verify"
)

// valid reports where a printed object violates its published schema.
func valid(t *testing.T, schema, printed string) {
	t.Helper()
	err := golden.CheckSchema("../../docs/schema/"+schema+".json", []byte(printed))
	if err != nil {
		t.Errorf("%s: %v\n%.400s", schema, err, printed)
	}
}

// The output of every verb with --json matches a published schema, and every schema belongs to a
// verb.
func TestEveryJSONHasASchema(t *testing.T) {
	const before, after, traced = "../../testdata/cases/feed-before/run.jsonl.gz", "../../testdata/cases/feed-after/run.jsonl.gz", "../../testdata/cases/trace-loader/trace.json.gz"
	folder := t.TempDir()
	copied, err := os.ReadFile(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "run.jsonl.gz"), copied, 0o600); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{"observe": true, "tune": true}   // they start a program: observe prints the object of diagnose, TestTuneSchema has tune
	used := map[string]bool{"tune": true, "pack-shard": true} // the list of a shard, which no verb prints
	for _, c := range []struct{ schema, line string }{
		{"diagnose", "diagnose " + before},
		{"diagnose", "advise " + before},
		{"verify", "verify " + before + " " + after},
		{"trace", "trace " + traced},
		{"trace-compare", "trace " + traced + " ../../testdata/cases/trace-workers/trace.json.gz"},
		{"runs", "runs " + folder},
		{"doctor", "doctor"},
		{"feed-check", "feed --check " + clitest.WritePictures(t)},
		{"pack-dry-run", "pack --dry-run " + clitest.WritePictures(t)},
		{"pack", "pack -o " + filepath.Join(t.TempDir(), "packed") + " " + clitest.WritePictures(t)},
		{"predict", "predict --gpu h100-sxm --model resnet50 --batch 256"},
		{"predict-tutorial", "predict --tutorial"},
		{"predict-list", "predict --list gpus"},
		{"predict-fleet", "predict fleet --util 40% --gpu h100-sxm"},
		{"predict-worth", "predict --util 40% --gpu h100-sxm"},
		{"predict-worth", "predict " + before},
		{"predict-transformation", "predict transformation --batch 256 --sample 500KB --cpu 2GB/s --step 11.74ms"},
		{"predict-train", "predict train --model llama-3.1-8b --gpu h100-sxm --software megatron"},
		{"predict-serve", "predict serve --model llama-3.1-8b --gpu h100-sxm --software vllm"},
		{"predict-serve-run", "predict serve --run ../../testdata/cases/server-one-at-a-time/run.jsonl.gz"},
		{"predict-data", "predict data --demand 300MB/s --storage 1.2GB/s"},
	} {
		words := strings.Fields(c.line)
		verb := words[0]
		if verb == "predict" && !strings.HasPrefix(words[1], "-") {
			verb += " " + words[1]
		}
		code, out, errs := call(t, append(words, "--json")...)
		if !slices.Contains([]int{cli.ExitFine, cli.ExitError}, code) || out == "" {
			t.Errorf("%s: code %d: %s", c.line, code, errs)
			continue
		}
		valid(t, c.schema, out)
		tried[verb], used[c.schema] = true, true
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if name := strings.TrimPrefix(cmd.CommandPath(), "stoker "); cmd.LocalFlags().Lookup("json") != nil && !tried[name] {
			t.Errorf("%s --json is held against no schema", name)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(rootCommand(&cli.App{}))
	files, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".json"); !used[name] {
			t.Errorf("%s is what no verb prints", file)
		}
	}
}

// tuned returns the result of a tuning: one fix that helped, one that did not.
func tuned(t *testing.T) tune.Object {
	t.Helper()
	var sides []judged.Recording
	for _, file := range []string{"feed-before", "feed-after"} {
		j, err := judged.Open(&cli.App{}, []string{"../../testdata/cases/" + file + "/run.jsonl.gz"})
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, j)
	}
	o := judged.CompareAll(sides[:1], sides[1:])
	worth := stoker.Interval{Low: 2.7, Point: 3.5, High: 3.6}
	changes := []stoker.Change{{Setting: stoker.NumWorkers, From: 0, To: 2}}
	return tune.Object{Schema: 1, Result: tune.Result{
		Stopped: "nothing more has a measurable gain", Starts: 3, Baseline: "run.jsonl.gz", Emulated: true, Outcome: &o,
		Trials: []tune.Trial{
			{Fix: "num_workers", Changes: changes, Promised: &worth, Pairs: []verify.Outcome{o}, Kept: true},
			{Fix: "pin_memory", Changes: []stoker.Change{{Setting: stoker.PinMemory, From: false, To: true}}, Promised: &stoker.Interval{Low: 1, Point: 1.1, High: 1.2}, Why: "CMD failed with code 1"},
		},
		Plan: tune.Plan{Format: 1, By: "0.1.0", Of: "run.jsonl.gz", Command: []string{"python", "train.py"}, Loaders: []tune.Loader{{Call: "/train.py:1", Changes: changes, Worth: &worth}}},
	}, Patch: "--- train.py\n+++ train.py\n"}
}

// The output of tune --json matches its schema.
func TestTuneSchema(t *testing.T) {
	var b bytes.Buffer
	if err := wire.WriteObject(&b, tuned(t)); err != nil {
		t.Fatal(err)
	}
	valid(t, "tune", b.String())
	golden.Open(t, "testdata/tuned", ".json").Check(t, "object", b.String())
}

// stoker report makes a page of the output of tune --json: the promise of each fix, its measured
// gain, and the patch.
func TestPageOfATuning(t *testing.T) {
	code, out, errs := call(t, "report", "testdata/tuned/object.json", "-o", "-")
	if code != cli.ExitFine {
		t.Fatal(code, errs)
	}
	for _, want := range []string{
		"<h1>Faster: 3.34x (3.22 to 3.47).</h1>", "num_workers 0 -&gt; 2", "promised 3.50x (2.70 to 3.60), achieved by itself 3.34x (3.22 to 3.47), kept",
		"not kept", "CMD failed with code 1", "--- train.py\n&#43;&#43;&#43; train.py\n", `class="achieved"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if code, _, _ := call(t, "report", "testdata/tuned/absent.json", "-o", "-"); code != cli.ExitError {
		t.Errorf("a file that is not there: code %d", code)
	}
}
