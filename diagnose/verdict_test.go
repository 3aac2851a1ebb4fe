package diagnose

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// The advice on a wait for something outside of the job names its line.
func TestAWaitForOutsideHasItsLine(t *testing.T) {
	at := func(line int, kind Kind) Line {
		return Line{Own: recording.Place{File: "/t.py", Line: line, Function: "f" + string(rune(line))}, Kind: kind}
	}
	v := Verdict{Class: WaitsOutside}
	v.Measured.LoopLines.Lines = []LoopLine{
		{Line: at(83, DeviceWait), Seconds: 5}, {Line: at(30, ""), Seconds: 4}, {Line: at(9, ""), Seconds: 1},
	}
	for kind, want := range map[Kind]string{Locking: "t.py:30: if it is asked", Pausing: "t.py:30: what a step needs"} {
		v.Measured.LoopLines.Lines[1].Kind = kind
		if do := v.Do(); !strings.HasPrefix(do, want) {
			t.Errorf("%s: %s", kind, do)
		}
	}
}
