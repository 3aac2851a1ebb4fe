package tune

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }

// starved is a run whose launching thread loads, with the line of its DataLoader.
func starved(t *testing.T, change func(f *recording.Facts)) Best {
	t.Helper()
	run, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run.Facts.Command = []string{"python", "train.py"}
	run.Facts.Loaders[0].Call = "/job/train.py:12"
	run.Facts.Draws = &recording.Draws{From: []string{}}
	if change != nil {
		change(&run.Facts)
	}
	return judgeBest(Attempt{Run: run})
}

func script12(string) ([]byte, error) { return []byte("the script"), nil }

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *recording.Facts)
		sets   string // the changes, as printed
		denied string // a word of --allow
		says   string // of a change that is not set
	}{
		{"the best settings", nil, "num_workers 0 -> 7", "", "not set"},
		{"it draws", func(f *recording.Facts) { f.Draws.From = []string{"torch"} }, "num_workers 0 -> 7", Draws, ""},
		{"its own sampler", func(f *recording.Facts) { f.Loaders[0].Own = []string{"sampler"} }, "num_workers 0 -> 7", Order, ""},
		{"nobody looked", func(f *recording.Facts) { f.Draws = nil }, "num_workers 0 -> 7", "", ""},
		{"an older recording", func(f *recording.Facts) { f.Loaders[0].Call = "" }, "", "", "observe it again"},
		{"iterable", func(f *recording.Facts) { f.Loaders[0].Iterable, f.Loaders[0].Split = true, recording.SplitByItself }, "", "", "iterable"},
	} {
		best := starved(t, c.change)
		plan, err := New(best.Run, best.Verdict, best.Plan, "run.jsonl.gz", "v1", script12)
		if err != nil {
			t.Fatal(err)
		}
		sets, denied := "", ""
		for _, l := range plan.Loaders {
			sets += Trial{Changes: l.Changes}.SettingsText()
		}
		for _, d := range plan.Denied(nil) {
			denied += d.Allow
		}
		if !strings.HasPrefix(sets, c.sets) || (c.sets == "") != (sets == "") || denied != c.denied || !strings.Contains(strings.Join(plan.Unset(), "\n"), c.says) {
			t.Errorf("%s: sets %q, denied %q, unset %q", c.name, sets, denied, plan.Unset())
		}
		if len(plan.Denied(Allowances)) > 0 {
			t.Errorf("%s: what is allowed is denied", c.name)
		}
		text, err := plan.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(text)
		if err != nil || len(again.Loaders) != len(plan.Loaders) || len(plan.Loaders) > 0 && !slices.Equal(again.Loaders[0].Changes, plan.Loaders[0].Changes) {
			t.Errorf("%s: reads as %+v, %v", c.name, again, err)
		}
	}
}

// A fix that keeps the workers of several loaders promises the gain of all, and a plan sets all.
func TestPlanOfSeveralLoaders(t *testing.T) {
	best := starved(t, func(f *recording.Facts) {
		other := f.Loaders[0]
		other.ID, other.Call, other.Settings = 7, "/job/train.py:13", stoker.Settings{stoker.PersistentWorkers: false}
		f.Loaders = append(f.Loaders, other)
	})
	keep := stoker.Change{Setting: stoker.PersistentWorkers, From: false, To: true}
	fix := advise.Fix{Name: string(stoker.PersistentWorkers), Changes: []stoker.Change{keep}, Also: []string{"/job/train.py:13"}}
	plan, err := New(best.Run, best.Verdict, advise.Plan{Fixes: []advise.Fix{fix}}, "run.jsonl.gz", "v1", script12)
	if err != nil || len(plan.Loaders) != 2 || plan.Loaders[1].Call != "/job/train.py:13" ||
		!slices.Equal(plan.Loaders[1].Changes, []stoker.Change{keep}) {
		t.Errorf("%+v, %v", plan.Loaders, err)
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "it is not a plan",
		"[1]":                                "it is not a plan",
		`{"plan": 2}`:                        "format 2",
		`{"loaders": [{"call": "/a.py:1"}]}`: "format 0",
		`{"plan": 1, "loaders": [{"call": "a.py:1"}]}`:                                                                       "absolute file:line",
		`{"plan": 1, "loaders": [{"call": "/a.py:1", "changes": [{"setting": "num_workers", "to": -1}]}]}`:                   "expected a number of workers",
		`{"plan": 1, "loaders": [{"call": "/a.py:1", "changes": [{"setting": "num_workers", "to": "2x"}]}]}`:                 "not multiples",
		`{"plan": 1, "loaders": [{"call": "/a.py:1", "changes": [{"setting": "shell", "to": "x"}]}]}`:                        "not a setting",
		`{"plan": 1, "loaders": [{"call": "/a.py:1", "changes": [{"setting": "num_workers", "to": 2, "from": [1]}]}, null]}`: "absolute file:line",
		`{"plan": 1, "program": [{"setting": "tf32", "to": {}}]}`:                                                            "expected true or false",
		`{"plan": 1, "program": [{"setting": "precision", "to": "fp16"}]}`:                                                   "can be set there",
		`{"plan": 1, "program": [{"setting": "num_workers", "to": 2}]}`:                                                      "can be set there",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestRefusal(t *testing.T) {
	text := []byte("x = 1\n")
	plan := Plan{Format: Format, Command: []string{"python", "train.py"}, Loaders: []Loader{{Call: "/job/train.py:12", SHA256: digest(text)}}}
	read := func(string) ([]byte, error) { return text, nil }
	other := func(string) ([]byte, error) { return []byte("x = 2\n"), nil }
	gone := func(string) ([]byte, error) { return nil, errors.New("no such file") }
	for _, c := range []struct {
		command string
		read    func(string) ([]byte, error)
		want    string
	}{
		{"python train.py --epochs 9", read, ""},
		{"torchrun --nproc-per-node 2 /elsewhere/train.py", read, ""},
		{"python -m job", read, ""},
		{"python eval.py", read, "made of train.py, and this is eval.py"},
		{"python train.py", other, "another version"},
		{"python train.py", gone, "no such file"},
	} {
		err := plan.Refusal(strings.Fields(c.command), c.read)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.command, err, c.want)
		}
	}
}

// Pictures made by stoker are tried by themselves, without the fix's count of threads, and kept in the plan.
func TestFeeds(t *testing.T) {
	best := starved(t, func(f *recording.Facts) { f.Draws.From = []string{"torch"} })
	next := chooseNext(best, nil, nil, 1, false)
	if got := (Trial{Changes: next.Changes}).SettingsText(); got != "loader torch -> stoker" {
		t.Fatalf("tries %q: %s", got, next.Why)
	}
	if again := chooseNext(best, []Trial{{Changes: next.Changes}}, nil, 1, false); again.Why == "" {
		t.Errorf("it is tried again: %+v", again)
	}
	plan, err := planOf(best.Run, best.Verdict, next.Changes, "run.jsonl.gz", "v1", script12)
	if err != nil || !plan.Feeds() || len(plan.Unset()) > 0 || len(plan.Denied(nil)) > 0 {
		t.Errorf("feeds %t, unset %q, denied %v, %v", plan.Feeds(), plan.Unset(), plan.Denied(nil), err)
	}
	advised, err := New(best.Run, best.Verdict, best.Plan, "run.jsonl.gz", "v1", script12)
	if err != nil || advised.Feeds() || !strings.Contains(strings.Join(advised.Unset(), "\n"), "stoker feed -- CMD") {
		t.Errorf("a plan that nobody asked to feed: %+v, %v", advised, err)
	}
	diff, left, err := Patch(t.Context(), plan, t.TempDir())
	if err != nil || diff != "" || !strings.Contains(strings.Join(left, "\n"), "no change of the script") {
		t.Errorf("%v\n%s%s", err, diff, left)
	}
}

func TestUnsetSays(t *testing.T) {
	plan := Plan{Loaders: []Loader{{Call: "/job/train.py:12", Changes: []stoker.Change{
		{Setting: stoker.NumWorkers, To: 2}, {Setting: stoker.BatchSize, From: 32, To: 64}, {Setting: stoker.Precision, To: "bf16"},
	}}}}
	got := strings.Join(plan.Unset(), "\n")
	for _, want := range []string{"batch_size 32 -> 64 is not set: it changes what is learnt. Write it at /job/train.py:12", "precision unknown -> bf16 is not set: it changes numbers"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "num_workers") {
		t.Errorf("num_workers is set:\n%s", got)
	}
}

// Fixes that are too uncertain to be advised are tried after all advised ones.
func TestDoubtful(t *testing.T) {
	doubtful := advise.Fix{Name: "persistent_workers", Changes: []stoker.Change{{Setting: stoker.PersistentWorkers, From: false, To: true}}}
	doubtful.Forecast.Speedup = stoker.Interval{Low: 0.75, Point: 1.25, High: 1.42}
	best := starved(t, func(*recording.Facts) {})
	best.Plan.Doubtful = []advise.Fix{doubtful}
	if next := chooseNext(best, nil, nil, 9, false); next.Fix.Name == doubtful.Name || next.Why != "" {
		t.Errorf("first is %q: %s", next.Fix.Name, next.Why)
	}
	best.Plan.Fixes = nil
	if next := chooseNext(best, nil, nil, 9, false); next.Fix.Name != doubtful.Name {
		t.Errorf("%q is tried: %s", next.Fix.Name, next.Why)
	}
}
