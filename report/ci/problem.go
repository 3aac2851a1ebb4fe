package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/wire"
)

// Problem is something that a code review should show, with its file and line.
type Problem struct {
	Rule string // class or finding of the verdict, or "check"
	Says string // what the rule means
	Text string
	Fail bool   // a failed check; otherwise a warning
	File string // of the observed program; relative to the root if below it; "" if unknown
	Line int    // 1-based
}

// FindProblems returns the problems of a run: its class if the device waits, the findings with
// a line (the slow transform first), and the failed checks. Files below root are named relative
// to it. A problem without a line gets that of the judged DataLoader.
func FindProblems(run *recording.Run, v diagnose.Verdict, plan advise.Plan, failed []string, root string) []Problem {
	loader := recording.Place{}
	if l := run.FindLoader(v.Costs.Window.PID, v.Costs.Window.Loader); v.HasSteps && l != nil {
		loader = parsePlace(l.Where)
	}
	var all []Problem
	add := func(rule, says, text string, at recording.Place) {
		if !at.Own() && !strings.HasSuffix(at.File, ".py") {
			at = loader
		}
		all = append(all, Problem{
			Rule: rule, Says: says, Text: text, Fail: rule == checkRule,
			File: below(root, at.File), Line: max(1, at.Line),
		})
	}
	slow := loader
	for _, f := range v.Findings {
		at := parsePlace(f.Source)
		if f.Name == diagnose.SlowTransform && len(v.Lines) > 0 && v.Lines[0].Own.File != "" {
			at = v.Lines[0].Own
			slow = at
		}
		if set, _ := report.AdviceOn(f, plan); at.File != "" {
			add(f.Name, says(diagnose.Findings, f.Name), strings.TrimSuffix(f.Text, ".")+advice(set), at)
		}
	}
	if v.Class.Starves() || v.Class == diagnose.TransferBound || v.Class == diagnose.ComputeOnCPU ||
		v.Class == diagnose.CPUBound {
		add(string(v.Class), says(diagnose.Classes, string(v.Class)),
			report.Summarize(v)+report.MarkEmulated(run.Emulated()), loader)
	}
	for _, text := range failed {
		add(checkRule, "a bound that was asked for does not hold", text+report.MarkEmulated(run.Emulated()), slow)
	}
	return all
}

const checkRule = "check"

func advice(text string) string {
	if text == "" {
		return ""
	}
	return ". What helps: " + text
}

func says(words []diagnose.Word, name string) string {
	for _, w := range words {
		if w.Name == name {
			return w.Says
		}
	}
	return "most of preparing a batch goes into one line" // slow-transform, which is reported separately
}

// linePattern matches a line of code as the hook writes it, "train.py:41", possibly with the
// rest of a stack entry, or as stacks in traces do, "train.py(41): forward".
var linePattern = regexp.MustCompile(`^(.+?)(?::(\d+)|\((\d+)\))(?::? .*)?$`)

// parsePlace returns the line of code that a text names, the zero Place if it names none.
func parsePlace(text string) recording.Place {
	found := linePattern.FindStringSubmatch(text)
	if found == nil {
		return recording.Place{}
	}
	line, _ := strconv.Atoi(found[2] + found[3])
	return recording.Place{File: found[1], Line: line}
}

// below returns a file name relative to root if the file is below it.
func below(root, file string) string {
	if file == "" || !path.IsAbs(file) {
		return strings.TrimPrefix(file, "./")
	}
	if rest, inside := strings.CutPrefix(path.Clean(file), strings.TrimSuffix(root, "/")+"/"); inside {
		return rest
	}
	return file
}

// WriteGitHub writes problems as workflow commands, which GitHub displays at their lines.
func WriteGitHub(w io.Writer, problems []Problem) error {
	var b strings.Builder
	escape := strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
	property := func(text string) string { return escape.Replace(safe.Text(text, mostText)) }
	for _, p := range problems {
		command := "warning"
		if p.Fail {
			command = "error"
		}
		place := ""
		if p.File != "" {
			place = fmt.Sprintf("file=%s,line=%d,", property(p.File), p.Line)
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", command, place, property("stoker: "+p.Rule),
			strings.ReplaceAll(safe.Text(p.Text, mostText), "%", "%25"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const mostText = 4000 // characters of an annotation

// WriteGitLab writes problems as a Code Quality report. A problem of unknown file gets the name
// of its rule as file, because the format requires one.
func WriteGitLab(w io.Writer, problems []Problem) error {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		Check       string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	all := []issue{}
	for i, p := range problems {
		severity := "minor"
		if p.Fail {
			severity = "major"
		}
		file := p.File
		if file == "" {
			file = p.Rule
		}
		all = append(all, issue{
			p.Text, p.Rule, p.fingerprint(problems[:i]), severity,
			location{file, lines{max(1, p.Line)}},
		})
	}
	return wire.WriteObject(w, all)
}

// fingerprint identifies a problem: it is the same in the next run, whose numbers differ, but
// different from those of the problems before it.
func (p Problem) fingerprint(before []Problem) string {
	same := 0
	for _, other := range before {
		if other.Rule == p.Rule && other.File == p.File {
			same++
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", p.Rule, p.File, same))
	return hex.EncodeToString(sum[:])
}
