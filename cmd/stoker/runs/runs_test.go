package runs

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/summary"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// listOf returns the output of runs --json on a folder.
func listOf(t *testing.T, dir string, flags ...string) (list struct {
	Jobs []struct {
		Files   []string
		Class   string
		LostUSD *float64 `json:"lost_usd"`
		Fix     *string
	}
	Months   []map[string]any
	Warnings []string
},
) {
	t.Helper()
	code, out, errs := call(t, append([]string{"runs", "--json", dir}, flags...)...)
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != cli.ExitFine || errs != "" {
		t.Fatalf("code %d, %v\n%s%s", code, err, out, errs)
	}
	return list
}

// The job with the largest loss comes first, and a user's price doubles the cost. A second call,
// which reads no recording, prints the same.
func TestRuns(t *testing.T) {
	dir := clitest.MakeFolder(t, map[string]string{"a.jsonl.gz": clitest.FedRun, "b.jsonl.gz": clitest.StarvedRun})
	first := listOf(t, dir, "--price", "$1/h")
	twice := listOf(t, dir, "--price", "$2/h")
	if len(first.Jobs) != 2 || first.Jobs[0].Files[0] != "b.jsonl.gz" || first.Jobs[0].Class != "cpu-bound/main-thread-loader" || first.Jobs[0].Fix == nil || len(first.Months) != 1 {
		t.Fatalf("%+v", first)
	}
	if a, b := *first.Jobs[0].LostUSD, *twice.Jobs[0].LostUSD; !(a > 0) || math.Abs(b/a-2) > 1e-9 {
		t.Errorf("lost $%v at $1 an hour, $%v at $2", a, b)
	}
	code, out, _ := call(t, "runs", dir)
	if code != cli.ExitFine || !strings.Contains(out, "2 jobs in 2 recordings of "+dir) || !strings.Contains(out, "emulated") {
		t.Errorf("code %d\n%s", code, out)
	}
	code, out, _ = call(t, "runs", "--csv", "--sort", "class", dir)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != cli.ExitFine || err != nil || len(rows) != 3 || rows[1][4] != "cpu-bound/main-thread-loader" {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
	if code, _, errs := call(t, "runs", "--sort", "colour", dir); code != cli.ExitUsage || !strings.Contains(errs, "expected lost, when") {
		t.Errorf("--sort colour: code %d\n%s", code, errs)
	}
}

// The verdict of observe goes into the cache of runs, so that runs does not read the recording.
func TestObserveWritesTheCacheOfRuns(t *testing.T) {
	dir := filepath.Join(clitest.MakeFolder(t, nil), judged.Folder)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := func() string {
		text, err := os.ReadFile(filepath.Join(dir, judged.CacheName))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, from := range map[string]string{"a.jsonl.gz": clitest.FedRun, "b.jsonl.gz": clitest.StarvedRun} {
		path := filepath.Join(dir, name)
		if err := os.Link(clitest.CaseFile(from), path); err != nil {
			t.Skipf("no link: %v", err)
		}
		run, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := summary.Keep(judged.Judge(path, run)); err != nil {
			t.Fatal(err)
		}
	}
	observed := summary.OpenCache(dir).Summaries
	if len(observed) != 2 {
		t.Fatalf("kept:\n%s", kept())
	}
	a := &cli.App{Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}
	for name, s := range observed {
		read := *s
		read.Conclude(filepath.Join(dir, name))
		if !reflect.DeepEqual(read, *s) {
			t.Errorf("%s: observe %+v, runs %+v", name, *s, read)
		}
	}
	before := kept()
	if found, _, err := summarise(t.Context(), a, dir); err != nil || len(found) != 2 || kept() != before {
		t.Errorf("%d found, %v: they were read again", len(found), err)
	}
	other := strings.Replace(before, cli.Version, "0.0.1", 1)
	if err := os.WriteFile(filepath.Join(dir, judged.CacheName), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := recording.Open(filepath.Join(dir, "a.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := summary.Keep(judged.Judge(filepath.Join(dir, "a.jsonl.gz"), run)); err != nil || kept() != other {
		t.Errorf("%v: what another stoker keeps was changed", err)
	}
}

// The cache is used, only the user may read it, and a damaged one does no harm.
func TestRunsCachesVerdicts(t *testing.T) {
	dir := clitest.MakeFolder(t, map[string]string{"a.jsonl.gz": clitest.FedRun, "b.jsonl.gz": clitest.StarvedRun})
	want := fmt.Sprint(listOf(t, dir).Jobs[0].Files, listOf(t, dir).Jobs[0].Class)
	file := filepath.Join(dir, judged.CacheName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(whole), "main-thread-loader", "kept")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := listOf(t, dir).Jobs[0].Class; got != "cpu-bound/kept" {
		t.Errorf("%s: it was not read", got)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{
		"torn":     string(whole[:len(whole)-40]),
		"empty":    "",
		"noise":    "\x00\x01" + poison.Text,
		"older":    strings.Replace(string(whole), cli.Version, "0.0.1", 1),
		"bad line": lines[0] + "{\n" + lines[1] + lines[2],
		"another":  lines[0] + strings.Replace(lines[1], `"size":`, `"size":1`, 1) + lines[2],
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list := listOf(t, dir); len(list.Jobs) != 2 || fmt.Sprint(list.Jobs[0].Files, list.Jobs[0].Class) != want {
			t.Errorf("%s: %+v", name, list.Jobs)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, file); err != nil {
		t.Fatal(err)
	}
	listOf(t, dir)
	if data, _ := os.ReadFile(other); string(data) != "mine" {
		t.Errorf("what the link leads to was written: %q", data)
	}
}

// An unreadable recording is reported, and the others are listed.
func TestRunsOfAFolderWithAnythingInIt(t *testing.T) {
	dir := clitest.MakeFolder(t, map[string]string{"good.jsonl.gz": clitest.StarvedRun})
	data, err := os.ReadFile(filepath.Join(dir, "good.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte{}, data...)
	for i := 40; i < len(damaged)/2; i++ {
		damaged[i] ^= 0x55
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("damaged.jsonl.gz", damaged)
	write("empty.jsonl.gz", nil)
	write("text.jsonl", []byte("no recording"))
	write("notes.txt", []byte("not looked at"))
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl.gz"), 0o700); err != nil {
		t.Fatal(err)
	}
	list := listOf(t, dir)
	said := strings.Join(list.Warnings, "\n")
	if len(list.Jobs) != 1 || strings.Contains(said, "notes.txt") {
		t.Errorf("%+v", list)
	}
	for _, name := range []string{"damaged.jsonl.gz", "empty.jsonl.gz", "text.jsonl", "folder.jsonl.gz"} {
		if strings.Count(said, name) != 1 {
			t.Errorf("%s is told %d times:\n%s", name, strings.Count(said, name), said)
		}
	}
	for i := range 200 {
		name := strings.Map(func(r rune) rune {
			if r == '/' || r == 0 {
				return '_'
			}
			return r
		}, fmt.Sprintf("%d%s.jsonl", i, poison.Name))
		write(name, []byte("no recording"))
	}
	code, out, _ := call(t, "runs", dir)
	if leak := poison.Leak(out); code != cli.ExitFine || leak != "" || !strings.Contains(out, "1 job in 1 recording") || !strings.Contains(out, "and 184 more that cannot be read") {
		t.Errorf("code %d, %s stands raw\n%s", code, leak, out)
	}
}

func TestRunsOfNoFolder(t *testing.T) {
	code, out, errs := call(t, "runs", t.TempDir())
	if code != cli.ExitFine || !strings.Contains(out, "0 jobs in 0 recordings") || errs != "" {
		t.Errorf("an empty folder: code %d\n%s%s", code, out, errs)
	}
	code, _, errs = call(t, "runs", filepath.Join(t.TempDir(), "none"))
	if code != cli.ExitError || !strings.Contains(errs, "there is no such folder") || !strings.Contains(errs, "stoker: hint: ") {
		t.Errorf("no folder: code %d\n%s", code, errs)
	}
	if code, _, errs = call(t, "runs", clitest.LiveRun); code != cli.ExitError || !strings.Contains(errs, "list recordings: ") {
		t.Errorf("a file: code %d\n%s", code, errs)
	}
}

// Recordings are grouped into a job if everything matches. Its figures are sums over the ranks.
func TestJobs(t *testing.T) {
	one := 1.0
	recorded := func(name, job, command string, started, seconds float64, world int, ranks ...int) summary.Summary {
		return summary.Summary{
			Name: name, Job: job, Command: command, Started: started, Seconds: seconds, World: world, Ranks: ranks, Devices: 1,
			Host: "node" + name, Class: name, Stall: &one, Share: &one, Rate: &one,
		}
	}
	for name, c := range map[string]struct {
		found []summary.Summary
		want  string
	}{
		"two ranks":               {[]summary.Summary{recorded("b", "", "x", 5, 100, 2, 1), recorded("a", "", "x", 1, 100, 2, 0)}, "[a b]"},
		"two nodes of a job":      {[]summary.Summary{recorded("a", "J=1", "x", 1, 100, 4, 0, 1), recorded("b", "J=1", "x", 2, 100, 4, 2, 3)}, "[a b]"},
		"two jobs":                {[]summary.Summary{recorded("a", "J=1", "x", 1, 100, 2, 0), recorded("b", "J=2", "x", 2, 100, 2, 1)}, "[a] [b]"},
		"one after the other":     {[]summary.Summary{recorded("a", "J=1", "x", 1, 10, 2, 0), recorded("b", "J=1", "x", 20, 10, 2, 1)}, "[a] [b]"},
		"the same rank twice":     {[]summary.Summary{recorded("a", "", "x", 1, 100, 2, 0), recorded("b", "", "x", 2, 100, 2, 0)}, "[a] [b]"},
		"two pairs at one time":   {[]summary.Summary{recorded("a", "", "x", 1, 100, 2, 0), recorded("b", "", "x", 2, 100, 2, 0), recorded("c", "", "x", 3, 100, 2, 1), recorded("d", "", "x", 4, 100, 2, 1)}, "[a c] [b d]"},
		"other commands":          {[]summary.Summary{recorded("a", "J=1", "x", 1, 100, 2, 0), recorded("b", "J=1", "y", 2, 100, 2, 1)}, "[a] [b]"},
		"single ones of one time": {[]summary.Summary{recorded("a", "", "x", 1, 100, 1, 0), recorded("b", "", "x", 2, 100, 1, 0)}, "[a] [b]"},
	} {
		var got []string
		for _, g := range jobsOf(c.found) {
			job := g.addUp(predict.Prices{GPUHour: 3600})
			got = append(got, fmt.Sprint(job.Files))
			if n := float64(len(job.Files)); math.Abs(job.Lost-n*c.found[0].Seconds) > 1e-6 || job.Rate != n || len(job.Hosts) != len(job.Files) {
				t.Errorf("%s: %+v", name, job)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// BenchmarkRuns lists 10,000 recordings of some 20 s each, the first time and again:
//
//	go test -run '^$' -bench '^BenchmarkRuns$' -benchtime 1x ./cmd/stoker
func BenchmarkRuns(b *testing.B) {
	files, err := filepath.Glob(clitest.CaseFile("*/run.jsonl.gz"))
	if err != nil || len(files) < 40 {
		b.Fatal(len(files), err)
	}
	for _, count := range []int{50, 10_000} {
		dir := b.TempDir()
		for i := range count {
			data, err := os.ReadFile(files[i%len(files)])
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl.gz", i)), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		list := func(b *testing.B) {
			a := &cli.App{Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}
			if found, _, err := summarise(b.Context(), a, dir); err != nil || len(found) != count {
				b.Fatal(len(found), err)
			}
		}
		b.Run(fmt.Sprintf("%d first", count), func(b *testing.B) {
			for b.Loop() {
				_ = os.Remove(filepath.Join(dir, judged.CacheName))
				list(b)
			}
		})
		b.Run(fmt.Sprintf("%d again", count), func(b *testing.B) {
			for b.Loop() {
				list(b)
			}
		})
	}
}
