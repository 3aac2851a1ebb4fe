package diagnose

import (
	"strings"
	"testing"
)

// A run that never trains owes somebody the result of each pass: it can read none of them later.
func TestPassesReadEachResult(t *testing.T) {
	for _, kind := range []Kind{Syncing, Locking} {
		l := Lead{Row: Row{Name: RowBetween, Line: Line{Kind: kind}}}
		trains := l.Advice()
		l.Passes = true
		if got := l.Advice(); got == trains || strings.Contains(got, "loss") || strings.Contains(got, "every 50 steps") {
			t.Errorf("%v: %q", kind, got)
		}
	}
}
