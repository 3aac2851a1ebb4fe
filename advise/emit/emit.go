// Package emit prints a plan's changes as lines to paste, in the dialect of the
// framework: PyTorch, Hugging Face's Trainer, Lightning.
//
// It decides nothing: the changes and their gains come from advise. Every
// line is Python that the framework takes, or a comment: a change whose value is
// only known in proportion to an unknown one, and one that no line can
// make, are printed in words. python/tests/test_emit.py executes all that can be printed.
package emit

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/internal/safe"
)

// Dialects are the frameworks by the names that --emit takes.
var Dialects = map[string]func(io.Writer, advise.Fix) error{"torch": Torch, "hf": HF, "lightning": Lightning}

// Torch prints a fix for a loop of one's own around torch.utils.data.DataLoader.
func Torch(w io.Writer, fix advise.Fix) error { return write(w, fix, torch, nil) }

// HF prints a fix as arguments of transformers.TrainingArguments.
func HF(w io.Writer, fix advise.Fix) error { return write(w, fix, huggingFace, ofTrainingArguments) }

// Lightning prints a fix as arguments of lightning.Trainer and of its DataLoader.
func Lightning(w io.Writer, fix advise.Fix) error { return write(w, fix, lightning, ofLightning) }

// dialect has the form of each setting in a framework.
type dialect map[stoker.Setting]phrase

// phrase is a change in words of a framework.
type phrase func(c stoker.Change) line

// line is the printed form of one change.
type line struct {
	call string // whose keyword text is: "DataLoader"; "": text is a whole line
	text string
	head string // a line that has to stand before all calls
}

// write prints what has to stand first, then a call with all its keywords, then the
// lines that stand by themselves.
func write(w io.Writer, fix advise.Fix, d dialect, rows map[string]string) error {
	safe.Values(&fix) // a line that ended within a comment would be code of somebody else's
	var head, own, calls []string
	keywords := map[string]string{}
	for _, c := range fix.Changes {
		say := d[c.Setting]
		if say == nil {
			say = inWords(string(c.Setting))
		}
		l := say(c)
		if words, ours := fix.InWords(c); ours {
			l = line{text: "# " + words}
		}
		if l.head != "" && !strings.Contains(strings.Join(head, ""), l.head) {
			head = append(head, l.head+"\n")
		}
		switch {
		case l.text == "":
		case l.call == "":
			own = append(own, l.text+"\n")
		default:
			if keywords[l.call] == "" {
				calls = append(calls, l.call)
			}
			keywords[l.call] += fmt.Sprintf("    %s,  # %s\n", l.text, was(c))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n%s", fix.Name, worth(fix), strings.Join(head, ""))
	if fix.Beside {
		fmt.Fprintf(&b, "# in the DataLoader of %s, no other\n", fix.Where)
	}
	if len(fix.Also) > 0 {
		fmt.Fprintf(&b, "# in the DataLoader of %s\n", strings.Join(append([]string{fix.Where}, fix.Also...), ", and of "))
	}
	if fix.Mind != "" {
		fmt.Fprintf(&b, "# first: %s\n", fix.Mind)
	}
	if len(fix.Changes) == 0 && fix.Title != "" {
		how := rows[fix.Name]
		if how == "" && len(fix.Notes) == 0 {
			how = "there is no setting for it"
		}
		fmt.Fprintf(&b, "# %s\n", strings.TrimSuffix(fix.Title+": "+how, ": "))
	}
	for _, call := range calls {
		fmt.Fprintf(&b, "%s(\n    ...,  # what you pass today\n%s)\n", call, keywords[call])
	}
	b.WriteString(strings.Join(own, ""))
	if fix.Effort == advise.Machine || len(fix.Changes) == 0 { // no line does it: the notes say how
		for _, note := range fix.Notes {
			fmt.Fprintf(&b, "# %s\n", note)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func worth(fix advise.Fix) string {
	if fix.Forecast.Speedup.Known() {
		return "predicted " + fix.Worth()
	}
	return fix.Worth()
}

func was(c stoker.Change) string {
	if c.From == nil {
		return "not known before"
	}
	return "was " + pythonLiteral(c.From)
}

// pythonLiteral prints a value as Python writes it.
func pythonLiteral(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return fmt.Sprintf("%q", v)
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}
