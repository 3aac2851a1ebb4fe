package cli

import (
	"strings"
	"testing"
)

// Only a value of --check is joined to it, and nothing behind --.
func TestJoinChecks(t *testing.T) {
	for in, want := range map[string]string{
		"diagnose --check stall<10% RUN":                "diagnose --check=stall<10% RUN",
		"diagnose --check RUN":                          "diagnose --check RUN",
		"diagnose RUN --check":                          "diagnose RUN --check",
		"diagnose --check stall=10% RUN":                "diagnose --check=stall=10% RUN",
		"diagnose --check a=b.jsonl.gz":                 "diagnose --check a=b.jsonl.gz",
		"diagnose --check=fed --check idle<=0.2":        "diagnose --check=fed --check=idle<=0.2",
		"observe --check -- train --check a<b":          "observe --check -- train --check a<b",
		"observe --check step<1s -- train --check x<1s": "observe --check=step<1s -- train --check x<1s",
	} {
		if got := strings.Join(joinChecks(strings.Fields(in)), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
