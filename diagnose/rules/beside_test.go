package rules

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// A thread that loads beside the one that launches is not called the training loop.
func TestAThreadThatLoads(t *testing.T) {
	for beside, want := range map[bool]string{true: "a thread of the program", false: "the training loop loads"} {
		v := diagnose.Verdict{Class: diagnose.MainThread}
		v.Grounds.Beside = beside
		if title, _, _ := Describe(v); !strings.Contains(strings.ToLower(title), want) {
			t.Errorf("beside %v: %s", beside, title)
		}
	}
}
