package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
)

// For a misspelt verb or flag, one line names the probable one. For a flag unlike all others, it
// names the help of the verb.
func TestMisspelt(t *testing.T) {
	for args, hint := range map[string]string{
		"observ":                "stoker observe --help",
		"diagnose --explan":     "stoker diagnose --explain",
		"trace --operator FILE": "stoker trace --operators",
		"predict --gpuu x":      "stoker predict --gpu",
		"verify --zzzzzzzz A B": "stoker verify --help",
	} {
		code, out, errs := call(t, strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || strings.Count(errs, "\n") != 2 || !strings.HasSuffix(errs, "stoker: hint: "+hint+"\n") {
			t.Errorf("stoker %s: code %d\n%s%s", args, code, out, errs)
		}
	}
}

// stoker alone introduces itself on one screen.
func TestIntroduction(t *testing.T) {
	code, out, _ := call(t)
	if code != cli.ExitFine || strings.Count(out, "\n") > 23 || !strings.Contains(out, "stoker observe -- python train.py") {
		t.Errorf("code %d, %d lines:\n%s", code, strings.Count(out, "\n"), out)
	}
	fits(t, "stoker", out)
}

// A recording can be read from stdin, with the same verdict as from its file.
func TestRecordingFromStdin(t *testing.T) {
	text, err := os.ReadFile(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "run.html")
	for _, args := range [][]string{{"diagnose"}, {"diagnose", "--json"}, {"advise", "--emit", "torch"}, {"verify", clitest.LiveRun}, {"report", "-o", page}, {"export", "-o", page + ".prom"}} {
		want, wanted, _ := call(t, append(args, clitest.LiveRun)...)
		var out, errs bytes.Buffer
		got := run(context.Background(), append(args, "-"), bytes.NewReader(text), &out, &errs)
		// The commands on the page name the run as the user did, here "-".
		again := strings.ReplaceAll(wanted, clitest.LiveRun, "-")
		if got != want || strings.Join(strings.Fields(out.String()), " ") != strings.Join(strings.Fields(again), " ") {
			t.Errorf("stoker %s -: code %d, want %d; %s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
		}
	}
	if code, _, errs := call(t, "verify", "-", "-"); code != cli.ExitUsage || !strings.Contains(errs, "one of its files from stdin") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// observe --json prints the verdict as JSON when the run has ended.
func TestObserveJSON(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "verdict.json")
	code, _, errs := call(t, "observe", "--json", file, "-o", filepath.Join(folder, "run.jsonl.gz"), "--no-hook", "--", "sh", "-c", "exit 7")
	text, err := os.ReadFile(file)
	if code != 7 || err != nil || !bytes.Contains(text, []byte(`"class": "not-training"`)) {
		t.Errorf("code %d, %v: %s%s", code, err, text, errs)
	}
}

// Every output begins with how the program failed.
func TestCrashIsNamedFirst(t *testing.T) {
	folder := t.TempDir()
	script, file := filepath.Join(folder, "train.py"), filepath.Join(folder, "run.jsonl.gz")
	if err := os.WriteFile(script, []byte("\nprices = {}\nprices['patient 4711']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := call(t, "observe", "-o", file, "--", "python3", script)
	ends := regexp.MustCompile(`exit code 1 after [\d.]+ m?s: KeyError at train\.py:3`)
	if code != 1 || !strings.Contains(errs, "the program ended with an error before it trained") || !ends.MatchString(errs) {
		t.Errorf("observe: code %d: %s", code, errs)
	}
	page := filepath.Join(folder, "run.html")
	for _, args := range [][]string{{"diagnose", file}, {"diagnose", "--json", file}, {"runs", folder}, {"runs", "--json", folder}, {"report", "-o", page, file}} {
		code, out, errs := call(t, args...)
		if args[0] == "report" {
			text, err := os.ReadFile(page)
			if out = string(text); err != nil {
				t.Fatal(err)
			}
		}
		if out = strings.Join(strings.Fields(out), " "); code != cli.ExitFine || !ends.MatchString(out) || strings.Contains(out, "patient") {
			t.Errorf("%s: code %d: %s%s", strings.Join(args, " "), code, out, errs)
		}
	}
	var o struct {
		Exit struct {
			Code  int    `json:"code"`
			Error string `json:"error"`
			Where string `json:"where"`
		} `json:"exit"`
	}
	_, out, _ := call(t, "diagnose", "--json", file)
	if err := json.Unmarshal([]byte(out), &o); err != nil || o.Exit.Code != 1 || o.Exit.Error != "KeyError" || o.Exit.Where != script+":3" {
		t.Errorf("%v: %+v", err, o.Exit)
	}
}

// A forecast can be written as a page: its answer, the roofline with three sources of bytes, its
// assumptions, and nothing that the page's security policy forbids.
func TestForecastAsAPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "forecast.html")
	asked := strings.Fields("predict --gpu h100-sxm --model resnet50 --batch 256 --precision fp16 --workers 8 --cores 16 --storage nvme -o " + file)
	code, _, errs := call(t, asked...)
	text, err := os.ReadFile(file)
	if code != cli.ExitFine || err != nil {
		t.Fatalf("code %d, %v: %s", code, err, errs)
	}
	page := string(text)
	for _, want := range []string{"device memory, ", "host link, ", "input supply, ", "<h2>A step</h2>", "is the limit", "What this rests on", "default-src &#39;none&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	visible, _, _ := strings.Cut(page, "<script")
	for _, bad := range []string{"ZgotmplZ", "NaN", "style=", "<h2>Why</h2>", "src="} {
		if strings.Contains(visible[strings.Index(visible, "<body"):], bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// A shell completes values of flags, and the recordings of the current folder.
func TestCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(judged.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(judged.Folder, "a.jsonl.gz")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"predict --gpu h1": "h100-sxm", "predict --model resnet": "resnet50", "predict --storage n": "nvme", "predict --list g": "gpus",
		"advise --emit t": "torch", "trace --by c": "cpu", "--color n": "never", "diagnose ": name, "verify ": name, "diagnose --grid d": "de",
	} {
		_, out, errs := call(t, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("stoker %s<Tab> lacks %q: %s%s", args, want, out, errs)
		}
	}
}

var man = flag.String("man", "", "folder for the manual pages (make man)")

// Every verb has a manual page.
func TestManualPages(t *testing.T) {
	folder := *man
	if folder == "" {
		folder = t.TempDir()
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	root := rootCommand(&cli.App{})
	root.DisableAutoGenTag = true // without the date, so that the pages are reproducible
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "STOKER", Section: "1", Source: "stoker " + cli.Version, Manual: "Stoker"}, folder); err != nil {
		t.Fatal(err)
	}
	for _, verb := range root.Commands() {
		if verb.Name() == "help" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, "stoker-"+verb.Name()+".1"))
		if err != nil || !bytes.Contains(text, []byte(".SH EXAMPLE")) && verb.HasExample() {
			t.Errorf("%s: %v", verb.Name(), err)
		}
	}
}
