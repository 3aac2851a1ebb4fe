package report

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Two lines that have most of preparing a batch together are said, if it is known what both do.
func TestBothWorksAreSaid(t *testing.T) {
	line := func(number int, kind diagnose.Kind) diagnose.Line {
		return diagnose.Line{Own: recording.Place{File: "/t.py", Line: number}, Kind: kind, Share: stoker.Exactly(0.46)}
	}
	const want = ". 92 % of preparing a batch: decoding (t.py:43), and sorting (t.py:25)"
	if got := sayBothWorks([]diagnose.Line{line(43, diagnose.Decoder), line(25, diagnose.Sorting)}); got != want {
		t.Errorf("%q", got)
	}
	if got := sayBothWorks([]diagnose.Line{line(43, diagnose.Decoder), line(25, diagnose.Code)}); got != "" {
		t.Errorf("%q", got)
	}
}
