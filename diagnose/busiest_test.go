package diagnose

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// Before Python 3.12 a comprehension is a function. Its time counts for the function around it.
func TestBusiest(t *testing.T) {
	at := func(function string, line int, seconds float64) LoopLine {
		return LoopLine{Line: Line{Own: recording.Place{File: "/train.py", Line: line, Function: function}}, Seconds: seconds}
	}
	lines := []LoopLine{
		at("main", 9, 4), at("Words.encode", 3, 3), at("Words.encode.<locals>.<listcomp>", 4, 2), at("Words.split", 7, 3), at("pad", 2, 1),
	}
	all := func(LoopLine) bool { return true }
	if line, seconds := BusiestFunction(lines, all); line.Own.Line != 3 || seconds != 5 {
		t.Errorf("the busiest function has %v s, first %s", seconds, line)
	}
	if line, seconds := BusiestClass(lines, all); line.Own.Line != 3 || seconds != 8 {
		t.Errorf("the busiest class has %v s, first %s", seconds, line)
	}
}
