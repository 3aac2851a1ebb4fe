package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
)

// allOf begins the names of runs whose every text is hostile.
const allOf = "all of "

// hostileRuns makes recordings with one hostile text each, at every place where one of the cases
// has a text, and a recording with all of them.
func hostileRuns(t *testing.T) map[string]*recording.Run {
	t.Helper()
	runs := map[string]*recording.Run{}
	for _, file := range []string{
		"main-thread-live/run.jsonl", "main-thread-trace/run.jsonl", "straggler-two-ranks/run.jsonl", "labelled-cpu-model/run.jsonl.gz",
		"labelled-slow-disk/run.jsonl.gz", "feed-own-starved/run.jsonl.gz",
	} {
		open := func() *recording.Run {
			run, err := recording.Open(clitest.CaseFile(file))
			if err != nil {
				t.Fatal(err)
			}
			run.Facts.Absent = append(run.Facts.Absent, recording.Absence{What: "what", Why: "why"})
			run.Facts.Notes = append(run.Facts.Notes, "note")
			run.Facts.Captures = append(run.Facts.Captures, recording.Capture{File: "trace.json"})
			run.Facts.Exit = &recording.ExitStatus{Signal: "signal"}
			return run
		}
		for _, at := range append([]string{""}, poison.Paths(*open())...) {
			name := at
			if at == "" {
				name = allOf + file
			}
			if runs[name] == nil {
				runs[name] = open()
				poison.Into(runs[name], at)
			}
		}
	}
	if len(runs) < 40 {
		t.Fatalf("only %d places with texts", len(runs))
	}
	return runs
}

// No text of a recording may act on the terminal, whichever verb prints it.
func TestHostileRecordings(t *testing.T) {
	dir := t.TempDir()
	for name, run := range hostileRuns(t) {
		var text bytes.Buffer
		if err := recording.Write(&text, run); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "run.jsonl")
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		verbs := [][]string{
			{"diagnose", "--explain", "--color", "always"},
			{"diagnose", "--json"},
			{"advise", "--emit", "torch"},
			{"verify", path, "--color", "always"},
		}
		if strings.HasPrefix(name, allOf) { // these print nothing that those do not
			verbs = append(verbs, [][]string{
				{"diagnose", "--check"},
				{"advise"},
				{"advise", "--json"},
				{"advise", "--emit", "hf"},
				{"advise", "--emit", "lightning"},
				{"verify", "--json", path},
			}...)
		}
		for _, args := range verbs {
			checkLeak(t, name, append(args, path)...)
		}
	}
}

func checkLeak(t *testing.T, of string, args ...string) {
	t.Helper()
	code, out, errs := call(t, args...)
	for stream, text := range map[string]string{"stdout": out, "stderr": errs} {
		if leak := poison.Leak(text); leak != "" {
			t.Errorf("stoker %q: %s stands raw on %s: %s", args, of, stream, leak)
		}
	}
	if strings.Contains(strings.Join(args, " "), "--json") && code == cli.ExitFine {
		var any any
		if err := json.Unmarshal([]byte(out), &any); err != nil {
			t.Errorf("stoker %q: %v", args, err)
		}
	}
}

// Names of kernels, operators and devices in a trace may be hostile.
func TestHostileTraces(t *testing.T) {
	plain, err := os.ReadFile(clitest.WriteTrace(t, "trace.json", 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rest, err := json.Marshal(poison.Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aten::mm", "ampere_sgemm_64x64_nn", "cudaLaunchKernel", "NVIDIA A100-SXM4-80GB", "ProfilerStep#3", "float", "nccl", "cpu_op", ""} {
		text := strings.ReplaceAll(string(plain), name+`"`, name+string(rest[1:]))
		if name == "" { // every name, but not the kind of an event
			text = strings.ReplaceAll(string(plain), `","pid"`, string(rest[1:len(rest)-1])+`","pid"`)
		}
		path := filepath.Join(dir, "trace.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"trace", "--check"},
			{"trace", "--color", "always", "--shapes"},
			{"trace", "--json"},
			{"trace", "--explain"},
			{"trace", "--operators"},
			{"trace", "--what-if", "pin_memory=true"},
			{"trace", "--timeline", filepath.Join(dir, "out"+poison.Name+".json")},
		} {
			checkLeak(t, "name "+name, append(args, path)...)
		}
	}
}

// Names of files may contain every byte except zero and slash. Errors, warnings and reports quote
// them.
func TestHostileFileNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	name := "f" + poison.Name
	for path, text := range map[string]string{
		name + ".jsonl": "hello\n", name + ".json": "{", filepath.Join("set"+poison.Name, "class"+poison.Name, name+".png"): "no picture",
		name + ".sh": "exit 3", filepath.Join("stoker", "hardware.json"): `{"gpus": [{"name": ` + quoted(t, poison.Text) + `, "fp16": ` + quoted(t, poison.Text) + `}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	for _, args := range [][]string{
		{"diagnose", name},
		{"diagnose", name + ".jsonl"},
		{"diagnose", "--json", name},
		{"trace", name},
		{"trace", name + ".json"},
		{"verify", name, name},
		{"advise", name},
		{"advise", "--emit", poison.Name, name},
		{"diagnose", "--" + poison.Name},
		{poison.Name},
		{"diagnos"},
		{"diagnose", "--check=" + poison.Name, name},
		{"trace", "--what-if", poison.Name, name},
		{"trace", "--by", poison.Name, name},
		{"diagnose", "--grid", poison.Name, name},
		{"predict", "--gpu", poison.Name},
		{"predict", "--list", poison.Name},
		{"predict", "--list", "gpus"},
		{"predict", "--batch", poison.Name},
		{"predict", "-o", poison.Name},
		{"feed", "--check", "set" + poison.Name},
		{"feed", "--check", "set" + poison.Name, "--json"},
		{"feed", "--check", name},
		{"feed", "--socket", name},
		{"observe", "--no-hook", "-o", filepath.Join(folder, name+".jsonl.gz"), "--", "sh", name + ".sh"},
		{"observe", "--no-hook", "-o", filepath.Join(folder, "absent", "\x00"), "--", "true"},
		{"observe", "--no-hook", "-o", filepath.Join(folder, "2.jsonl.gz"), "--", name},
		{"observe", name},
		{"observe", "--pid", poison.Name},
		{"diagnose", filepath.Join(folder, name+".jsonl.gz")},
		{"runs", "check", name + ".jsonl", filepath.Join(folder, name+".jsonl.gz")},
		{"runs", "trim", "--most", poison.Name, name + ".jsonl"},
		{"runs", "trim", filepath.Join(folder, name+".jsonl.gz")},
		{"runs", "merge", "-o", filepath.Join(folder, "m"+poison.Name), filepath.Join(folder, name+".jsonl.gz"), filepath.Join(folder, name+".jsonl.gz")},
	} {
		checkLeak(t, "a name", args...)
	}
}

// Every name of a process may be hostile: its own, those of its threads, arguments, folder and
// control group.
func TestHostileProcessNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder"+poison.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	const comm = `printf '\033[31mP\302\233\342\200\256\nP' > /proc/$$/comm; `
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	for name, args := range map[string][]string{
		"":       {"observe", "--no-hook", "-o", path, "--", "bash", "-c", comm + `sh -c '` + strings.ReplaceAll(comm, "'", `"`) + `sleep 0.3' "$0"; sleep 0.3; exit 3`, poison.Name},
		"killed": {"observe", "--no-hook", "-o", path + ".2", "--", "bash", "-c", comm + "kill -KILL $$", poison.Name},
		"left":   {"observe", "--no-hook", "-o", path + ".3", "--", "bash", "-c", comm + "sleep 1 & exit 0", poison.Name},
	} {
		checkLeak(t, "a process, "+name, args...)
	}
	for _, args := range [][]string{
		{"diagnose"}, {"diagnose", "--explain"}, {"diagnose", "--json"}, {"advise"}, {"advise", "--json"}, {"verify", path}, {"verify", "--json", path}, {"runs", "check"},
	} {
		checkLeak(t, "a process", append(args, path)...)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// For a misspelt verb the nearest one is printed as a line to paste, without escape codes.
func TestMisspeltVerb(t *testing.T) {
	code, _, errs := call(t, "observ")
	if want := "stoker: error: unknown command \"observ\" for \"stoker\"\nstoker: hint: stoker observe --help\n"; code != cli.ExitUsage || errs != want {
		t.Errorf("code %d, stderr %q, want %q", code, errs, want)
	}
}
