package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/page"
)

// torchWords are words that only fit PyTorch. loaderWords are about its DataLoader, which programs
// of other frameworks may use, too.
var (
	torchWords = regexp.MustCompile(`torch\.version|torch\.compile|torch\.autocast|torch\.set_float32|torch\.cuda|PyTorch['’]s profiler|build of PyTorch|model\.to\(|observe --trace`)

	loaderWords = regexp.MustCompile(`pin_memory=True|non_blocking|num_workers=|DataLoader\(|\.to\(device`)
)

// Advice about a program uses the words of the program's framework.
func TestAdviceUsesWordsOfTheFramework(t *testing.T) {
	for _, file := range clitest.CaseFiles(t, "run.jsonl*") {
		for _, framework := range []string{"JAX", "TensorFlow"} {
			run, err := recording.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if run.Timeline != nil {
				continue // a file by PyTorch's profiler
			}
			run.Facts.Software.Torch, run.Facts.Software.Framework = "", framework
			if run.Facts.Model != nil {
				run.Facts.Model.DType, run.Facts.Model.Steps = "", 0
			}
			loads := slices.ContainsFunc(run.Facts.Loaders, func(l recording.Loader) bool { return l.Kind == "" })
			j := judged.Judge(file, run)
			faces := facesOf(t, j, 400)
			var shown bytes.Buffer
			if err := page.WriteRun(&shown, page.Subject{Name: file, Run: run, Verdict: j.Verdict, Plan: j.Plan}); err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(shown.String(), `<script type="application/json"`)
			faces["page"] = text[strings.Index(text, "<body"):]
			for face, text := range faces {
				found := torchWords.FindAllString(text, -1)
				if !loads {
					found = append(found, loaderWords.FindAllString(text, -1)...)
				}
				if len(found) > 0 {
					t.Errorf("%s, with %s: %s says %q", filepath.Base(filepath.Dir(file)), framework, face, found)
				}
			}
		}
	}
}

// If JAX computes on the batches of PyTorch's DataLoader, settings of the DataLoader are advised,
// and settings of PyTorch's device are not.
func TestLoaderOfAnotherFramework(t *testing.T) {
	run, err := recording.Open("../../testdata/cases/labelled-too-few-workers/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	run.Facts.Software.Framework = "JAX"
	plan := judged.Judge("run.jsonl.gz", run).Plan
	if len(plan.Fixes) == 0 || plan.Fixes[0].Name != "num_workers" {
		t.Errorf("%+v", plan.Fixes)
	}
	for _, fix := range plan.Fixes {
		if fix.Name == "pin_memory" {
			t.Errorf("%+v", fix)
		}
	}
}

// On a machine without a GPU the hint about finding one uses the framework's words, if the
// framework is known.
func TestFindTheGPU(t *testing.T) {
	for framework, want := range map[string]string{"JAX": "jax.devices()", "TensorFlow": "list_physical_devices", "": "torch.version.cuda", "none": ""} {
		run, err := recording.Open("../../testdata/cases/labelled-cpu-model/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		if framework != "" {
			run.Facts.Software.Torch = ""
			run.Facts.Software.Framework = strings.TrimSuffix(framework, "none")
		}
		text := facesOf(t, judged.Judge("run.jsonl.gz", run), 400)["diagnose"]
		for _, words := range []string{"jax.devices()", "list_physical_devices", "torch.version.cuda"} {
			if said := strings.Contains(text, words); said != (words == want) {
				t.Errorf("%q: says %s: %v\n%s", framework, words, said, text)
			}
		}
		if !strings.Contains(text, "nvidia-smi") {
			t.Errorf("%q: %s", framework, text)
		}
	}
}
