package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Where a sample is made by libraries alone, the data set's class is what a user knows.
func TestDataSetOfALibrarysLine(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{PID: 7, Dataset: "MNIST"}}}}
	looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;main"}
	stack := recording.Series{Signal: recording.FetchStack, Subject: "process/7;main;core;torchvision/datasets/mnist.py:143 MNIST.__getitem__;torchvision/transforms/transforms.py:137 ToTensor.__call__"}
	for i := range 100 {
		looks.T, looks.V = append(looks.T, float64(i)), append(looks.V, float64(i))
		stack.T, stack.V = append(stack.T, float64(i)), append(stack.V, float64(i)/2)
	}
	run.Series = []recording.Series{looks, stack}
	l := filler{Case: diagnose.NewCase(), run: run}
	l.From, l.To, l.Costs.Window.PID = 0, 99, 7
	lines := l.findLines()
	if len(lines) != 1 || lines[0].String() != "the data set MNIST, in torchvision/transforms/transforms.py ToTensor.__call__" || lines[0].Kind != diagnose.Conversion {
		t.Errorf("%+v", lines)
	}
}
