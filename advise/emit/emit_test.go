package emit_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// settings are all settings that there are, as the constants of the vocabulary say.
func settings(t *testing.T) []stoker.Setting {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../settings.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []stoker.Setting
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := spec.Type.(*ast.Ident); is && of.Name == "Setting" {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, stoker.Setting(name))
		}
		return true
	})
	if len(all) < 25 {
		t.Fatalf("only %d settings: %v", len(all), all)
	}
	return append(all, "a stranger")
}

var dialects = slices.Sorted(maps.Keys(emit.Dialects))

// values are all kinds of values that a change may have: numbers, booleans, words,
// multiples, ranges, nothing, and what only a stranger would write.
var values = []any{
	nil, true, false, 0, 1, 4, 64, 1000, -1, math.MaxInt64, 2.5, 4.0, -3.5, 1e300, math.NaN(), math.Inf(1),
	"", "2x", "4x", "0.5x", "1.5x", "-2x", "0x", "x", "NaNx", "Infx", "1e300x", "larger", "4", "4..8", "1,2,4", "None", "True",
	"bf16", "fp16", "half", "fp32", "tf32", "fp8", "int8", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "expandable_segments:True",
	"as found", stoker.PageCache, "torch", stoker.StokerLoader, "cuda", "cpu", "h100-sxm", "worker-info", "none",
	poison.Text, "\nimport os; os.abort()\n#", `"); raise SystemExit("`, `\`, `\"`, `'`, "%s%d{}",
}

// froms are what a change may start from.
var froms = []any{nil, 3, 64.0, true, "2x", "\nimport os; os.abort()\n#" + poison.Text}

// printed is a fix in a dialect.
func printed(t *testing.T, dialect string, fix advise.Fix) string {
	t.Helper()
	var b strings.Builder
	if err := emit.Dialects[dialect](&b, fix); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// code reports whether something but comments is printed.
func code(text string) bool {
	for row := range strings.Lines(text) {
		if !strings.HasPrefix(row, "#") {
			return true
		}
	}
	return false
}

// collected are the texts that hold code, each once, as lines of JSON: what
// python/tests/test_emit.py executes.
type collected struct {
	text strings.Builder
	seen map[string]bool
	n    int
}

func (c *collected) add(t *testing.T, dialect, text string) {
	t.Helper()
	if leak := poison.Leak(text); leak != "" {
		t.Errorf("%s: stands raw: %s", dialect, leak)
	}
	if !strings.HasPrefix(text, "# ") || !strings.HasSuffix(text, "\n") {
		t.Errorf("%s: %q: expected a comment first and a line break last", dialect, text)
	}
	c.n++
	if !code(text) || c.seen[dialect+text] {
		return
	}
	c.seen[dialect+text] = true
	row, err := json.Marshal(map[string]string{"dialect": dialect, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	c.text.Write(append(row, '\n'))
}

// Everything that can be printed, whatever a change holds: it is comment or code, no
// comment ends before its line does, and the code is what the golden file holds.
func TestEverything(t *testing.T) {
	c := &collected{seen: map[string]bool{}}
	for _, dialect := range dialects {
		for _, setting := range settings(t) {
			for _, to := range values {
				for _, from := range froms {
					fix := advise.Fix{Name: "fix", Changes: []stoker.Change{{Setting: setting, From: from, To: to}}}
					fix.Forecast.Speedup = stoker.Interval{Low: 1.1, Point: 1.2, High: 1.3}
					c.add(t, dialect, printed(t, dialect, fix))
				}
			}
		}
	}
	golden.Open(t, "testdata/settings", ".jsonl").Check(t, "all", c.text.String())
	if c.n < 10_000 || len(c.seen) < 300 {
		t.Errorf("%d texts, %d of them code", c.n, len(c.seen))
	}
}

// The plans of all recordings under testdata/cases.
func TestPlansOfTheCases(t *testing.T) {
	folders, err := filepath.Glob("../../testdata/cases/*/expect.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases under testdata/cases: %v", err)
	}
	c := &collected{seen: map[string]bool{}}
	for _, folder := range folders {
		run := open(t, filepath.Dir(folder))
		plan := advise.Rank(run, judge.Judge(run))
		for _, dialect := range dialects {
			for _, fix := range plan.Fixes {
				c.add(t, dialect, printed(t, dialect, fix))
			}
		}
	}
	golden.Open(t, "testdata/cases", ".jsonl").Check(t, "plans", c.text.String())
}

func open(t *testing.T, dir string) *recording.Run {
	t.Helper()
	for _, name := range []string{"run.jsonl", "run.jsonl.gz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			run, err := recording.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json.gz"))
	if exports, _ := filepath.Glob(filepath.Join(dir, "*.sqlite")); len(exports) > 0 {
		files = exports
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no recording and no trace (%v)", dir, err)
	}
	run, err := trace.Read(context.Background(), files, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// What is known in proportion only is a number where the present one is known, and
// else told in words; never a string in a number's place.
func TestProportions(t *testing.T) {
	for _, c := range []struct {
		dialect string
		change  stoker.Change
		want    string
	}{
		{"torch", stoker.Change{Setting: stoker.NumWorkers, To: "2x"}, "# num_workers: twice what it is now, which is not known here\n"},
		{"torch", stoker.Change{Setting: stoker.BatchSize, From: 64, To: "2x"}, "    batch_size=128,  # was 64\n"},
		{"hf", stoker.Change{Setting: stoker.BatchSize, To: "1.5x"}, "# per_device_train_batch_size: 1.5 times what it is now, which is not known here\n"},
		{"hf", stoker.Change{Setting: stoker.NumWorkers, From: 4, To: "2x"}, "    dataloader_num_workers=8,  # was 4\n"},
		{"lightning", stoker.Change{Setting: stoker.BatchSize, To: "larger"}, "# batch_size: \"larger\", not known before\n"},
	} {
		if got := printed(t, c.dialect, advise.Fix{Name: "fix", Changes: []stoker.Change{c.change}}); !strings.Contains(got, c.want) {
			t.Errorf("%s, %s:\n%s, want\n%s", c.dialect, c.change, got, c.want)
		}
	}
}

// A fix is worth the same here as in a report.
func TestWorth(t *testing.T) {
	for want, s := range map[string]stoker.Interval{
		"# fix: predicted 1.20x faster (1.10 to 1.30)\n": {Low: 1.1, Point: 1.2, High: 1.3},
		"# fix: at most 2.11x faster\n":                  {Low: 1, Point: math.NaN(), High: 2.11},
		"# fix: worth unknown\n":                         stoker.Unknown(),
	} {
		fix := advise.Fix{Name: "fix"}
		fix.Forecast.Speedup = s
		if got := printed(t, "torch", fix); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
	for _, dialect := range dialects {
		if text := printed(t, dialect, advise.Fix{Name: "fix" + poison.Text}); poison.Leak(text) != "" {
			t.Errorf("%s: %s", dialect, poison.Leak(text))
		}
	}
}

// What no setting of a loader changes is named by the arguments of the framework that has them.
func TestArgumentsOfRows(t *testing.T) {
	for row, want := range map[diagnose.RowName]map[string]string{
		diagnose.RowCheckpoint:            {"hf": "save_steps", "lightning": "every_n_train_steps", "torch": "no setting"},
		diagnose.RowEvaluation:            {"hf": "eval_steps", "lightning": "val_check_interval", "torch": "no setting"},
		diagnose.FindingPadding:           {"hf": "group_by_length", "lightning": "no setting", "torch": "no setting"},
		diagnose.FindingOptimizerLaunches: {"hf": "adamw_torch_fused", "lightning": "no setting", "torch": "no setting"},
		diagnose.RowHung:                  {"hf": "no setting", "lightning": "no setting", "torch": "no setting"},
	} {
		for dialect, words := range want {
			fix := advise.Fix{Name: string(row), Title: "do it less often"}
			if text := printed(t, dialect, fix); !strings.Contains(text, words) {
				t.Errorf("%s in %s: %q, want %q", row, dialect, text, words)
			}
			fix.Notes = []string{"stoker pack FOLDER"} // a command: there is no setting to name
			if text := printed(t, dialect, fix); strings.Contains(text, "no setting") || !strings.Contains(text, "# stoker pack") {
				t.Errorf("%s in %s: %q", row, dialect, text)
			}
		}
	}
}
