package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// A variable by which launches wait is told if the judged process has it, and not if another one does.
func TestLaunchesThatWaitAreFound(t *testing.T) {
	for pid, want := range map[int]int{7: 1, 8: 0} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.Costs.Window.PID = 7
		l.run.Facts.Processes = []recording.Process{{PID: pid, Blocking: true}, {PID: 9}}
		if found := l.findBlocking(); len(found) != want || want > 0 && (found[0].Text == "" || found[0].Advice == "") {
			t.Errorf("process %d: %+v", pid, found)
		}
	}
}
