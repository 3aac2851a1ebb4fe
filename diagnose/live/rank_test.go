package live

import (
	"testing"

	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// Processes that multiprocessing starts are told no RANK: their devices tell them apart.
func TestNameRank(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Processes: []recording.Process{{PID: 7, Device: 0}, {PID: 8, Device: 1}}}}
	for second, want := range map[int]string{0: "the rank of GPU 1", 1: "rank 1"} {
		late := recording.Window{PID: 8, Rank: second}
		l := filler{run: run, trainers: []measure.Costs{{Window: recording.Window{PID: 7}}, {Window: late}}}
		if got := l.nameRank(late); got != want {
			t.Errorf("rank %d is %q, want %q", second, got, want)
		}
	}
}
