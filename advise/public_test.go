package advise

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/trace"
)

// publicTraces are the files to hold the rules against: those under STOKER_TRACES, which
// may be strangers' and are not part of the project; else the cases.
func publicTraces(t *testing.T) (files []string) {
	t.Helper()
	root := os.Getenv("STOKER_TRACES")
	if root == "" {
		files, _ = filepath.Glob("../testdata/cases/*/trace.*")
	} else if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no traces under %q", root)
	}
	return files
}

// Whatever a file holds, its advice rests on what the file can carry. With -v it says what
// was refused, and why: STOKER_TRACES=../../shared/traces go test ./advise -run Public -v
func TestPublicTracesCarryTheirAdvice(t *testing.T) {
	read, asked, refused := 0, 0, map[string]int{}
	for _, file := range publicTraces(t) {
		run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
		if err != nil {
			t.Logf("%s: %v", filepath.Base(file), err)
			continue
		}
		read++
		gaps := idle.Analyse(run)
		v := judge.WithGaps(run, gaps)
		a := adviser{run: run, verdict: v, costs: v.Costs}
		played := a.replayable()
		e := a.onEvidence(played)
		plan := e.admit(a.propose(played))
		t.Logf("%-40s %-28s program %q, framework %q, exchange %d, saturated %t", filepath.Base(file), v.Class, v.Grounds.Program, v.Grounds.Framework, v.Grounds.Exchange, e.saturated)
		for _, f := range plan.Fixes {
			if why := e.refuses(f); why != "" {
				t.Errorf("%s: %s is advised and refused: %s", file, f.Name, why)
			}
			s := f.Forecast.Speedup
			if changesSetting(f, stoker.Accumulation) && played != nil && played.Lone() && !math.IsNaN(s.Point) {
				t.Errorf("%s: accumulation promises %v by one rank's file", file, s)
			}
		}
		for _, f := range v.Findings {
			for _, c := range f.Settings {
				if why := v.Grounds.Refuse(c.Setting); why != "" {
					t.Errorf("%s: %s advises %s, refused: %s", file, f.Name, c.Setting, why)
				}
			}
		}
		if v.Class == diagnose.StartUp && (len(plan.Fixes) > 0 || len(v.Findings) > 0) {
			t.Errorf("%s: advice on a program's start: %v", file, plan.Fixes)
		}
		for _, r := range plan.Rejected {
			if r.Gate != "" {
				t.Logf("    refused %s, %s: %s", r.Name, r.Gate, r.Why)
			}
		}
		if played == nil {
			continue
		}
		for _, c := range a.candidates(played) {
			if g, modelled := e.gainOf(played, c); modelled {
				asked++
				refused[g.firstRefusal()]++
			}
		}
	}
	if read == 0 {
		t.Fatal("no file could be read")
	}
	t.Logf("%d files, %d candidates, of which pass: %d", read, asked, refused[""])
	for _, gate := range gates {
		t.Logf("| %s | %s | %d |", gate.gate, gate.asks, refused[gate.asks])
	}
}

// firstRefusal is what the gate asks that refuses a gain, "" if it passes all of them.
func (g *gain) firstRefusal() string {
	for _, gate := range gates {
		if gate.refuses(g) != "" {
			return gate.asks
		}
	}
	return ""
}

func changesSetting(f Fix, s stoker.Setting) bool {
	return slices.ContainsFunc(f.Changes, func(c stoker.Change) bool { return c.Setting == s })
}
