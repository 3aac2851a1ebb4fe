package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A process that has loaded PyTorch and whose hook is silent is a Python program: none is
// said to be missing beside it.
func TestSilentHookIsAPythonProgram(t *testing.T) {
	for what, missing := range map[string]bool{"gpu": true, "steps": false, "hook": true} {
		run := &recording.Run{
			Facts:  recording.Facts{Absent: []recording.Absence{{What: what, Why: "process 1348 has loaded PyTorch"}}},
			Series: []recording.Series{{Signal: recording.TreeCPU, Subject: "tree", T: []float64{0, 10, 20}, V: []float64{0, 2, 4}}},
		}
		v, said := judge.Judge(run), ""
		for _, e := range v.Evidence {
			said += e.Text + "\n"
		}
		if told := strings.Contains(said, "no Python program"); told != missing {
			t.Errorf("%s: %s\n%s", what, v.Class, said)
		}
	}
}
