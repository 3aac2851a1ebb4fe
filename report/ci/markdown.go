package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// WriteSummary writes the verdict of a run as a summary for the page of a code host: what was
// observed, the best fixes, and the checks that failed.
func WriteSummary(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, failed []string) error {
	m := &markdown{}
	m.heading(string(v.Headline()) + report.MarkEmulated(run.Emulated()))
	m.writeLine("%s", report.Summarize(v))
	lead := report.LeadOf(run, v, plan, "")
	m.writeLine("Why: %s.", lead.Why)
	m.writeLine("Next: %s.", lead.Next)
	var names, values []string
	for _, f := range report.ListFigures(run, v) {
		names, values = append(names, f.Name), append(values, f.Value)
	}
	m.writeTable(names, values)
	rows := make([][]string, 0, len(plan.Fixes))
	for _, f := range plan.Fixes[:min(mostFixes, len(plan.Fixes))] {
		rows = append(rows, []string{report.SayFix(f), f.Worth()})
	}
	if len(rows) > 0 {
		m.writeTable([]string{"fix", "worth"}, rows...)
	}
	return m.writeEnd(w, v.Findings, failed, v.Warnings)
}

const mostFixes = 3

// WriteOutcome writes the result of verify as a summary, with the slow line of the run after
// the change.
func WriteOutcome(w io.Writer, o verify.Outcome, after diagnose.Verdict, failed []string) error {
	m, page := &markdown{}, report.DescribeOutcome(o, "before", "after")
	m.heading(page.Title + report.MarkEmulated(o.Emulated))
	if o.Refused != "" {
		m.writeLine("%s.", o.Refused)
		return m.writeEnd(w, nil, failed, o.Warnings)
	}
	m.writeLine("Next: %s.", report.LeadOfOutcome(o, "").Next)
	m.writeTable(page.Rows[0], append(page.Rows[1:], []string{"steps", countSide(o.Before), countSide(o.After)})...)
	for _, change := range page.Changes {
		m.writeLine("Changed: %s", change)
	}
	return m.writeEnd(w, after.Findings, failed, o.Warnings)
}

// countSide returns the number of steps and runs of a side.
func countSide(s verify.Side) string {
	return fmt.Sprintf("%d in %s", s.Steps, quantity.Many(s.Runs, "run"))
}

// markdown is a page in the dialect of GitHub and GitLab. Text from outside is escaped, so that
// it cannot become markup, a mention or a link.
type markdown struct{ b strings.Builder }

// literal escapes text for Markdown.
func literal(text string) string {
	var b strings.Builder
	for _, r := range safe.Text(text, mostText) {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>|#@!~$&", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "://", "&#58;//")
}

func (m *markdown) heading(text string) { fmt.Fprintf(&m.b, "### stoker: %s\n\n", literal(text)) }

func (m *markdown) writeLine(format string, args ...any) {
	fmt.Fprintf(&m.b, "%s\n\n", literal(fmt.Sprintf(format, args...)))
}

// writeTable writes a heading and rows.
func (m *markdown) writeTable(heading []string, rows ...[]string) {
	for i, row := range append([][]string{heading}, rows...) {
		m.b.WriteString("|")
		for _, cell := range row {
			m.b.WriteString(" " + literal(cell) + " |")
		}
		m.b.WriteString("\n")
		if i == 0 {
			m.b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	m.b.WriteString("\n")
}

// writeEnd adds the failed checks, the slow line and the notes, and writes the page.
func (m *markdown) writeEnd(w io.Writer, findings []diagnose.Finding, failed, notes []string) error {
	for _, why := range failed {
		m.b.WriteString("- **check**: " + literal(why) + "\n")
	}
	for _, f := range findings {
		if f.Name == diagnose.SlowTransform {
			m.b.WriteString("- " + literal(f.Text+advice(f.Advice)) + "\n")
		}
	}
	for _, note := range notes {
		m.b.WriteString("- note: " + literal(note) + "\n")
	}
	m.b.WriteString("\n")
	_, err := io.WriteString(w, m.b.String())
	return err
}
