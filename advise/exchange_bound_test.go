package advise

import (
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// Exchanges that come more seldom gain a lone rank no more than the share that the verdict gives them: the first one,
// which may wait for another rank's start, is apart in both.
func TestTheFirstExchangeIsNoGain(t *testing.T) {
	line := &recording.Timeline{
		Names: []string{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Optimizer.step#SGD.step", "cudaLaunchKernel", "sgemm"}, End: 1e9,
		Threads: []recording.Thread{{PID: 1, ID: 1}}, Devices: []recording.Device{{PID: 1, GPU: -1}},
	}
	line.Host.Append(recording.CallRow{Start: 1e6, End: 2e6, Name: 2, Kind: recording.Runtime})
	line.Host.Append(recording.CallRow{Start: 800e6, End: 900e6, Name: 1, Kind: recording.Annotation})
	line.Device.Append(recording.WorkRow{Start: 3e6, End: 5e6, Name: 3, Kind: recording.Kernel, Stream: 8, Call: 0, Bytes: -1})
	line.Device.Append(recording.WorkRow{Start: 10e6, End: 500e6, Kind: recording.Collective, Stream: 7, Call: 0, Bytes: -1})
	line.Device.Append(recording.WorkRow{Start: 600e6, End: 700e6, Kind: recording.Collective, Stream: 7, Call: 0, Bytes: -1})
	run := &recording.Run{
		Timeline: line, Steps: []recording.Step{{PID: 1, Period: 1, Phase: recording.Train}},
		Facts: recording.Facts{Processes: []recording.Process{{PID: 1, World: 2}}},
	}
	played, why := replay.New(run, MarkNames(line))
	if why != "" || !played.Lone() {
		t.Fatalf("no lone rank: %q", why)
	}
	f := diagnose.NewTextFinding(diagnose.FindingExposedCommunication, "")
	f.Share = 0.1
	g := &gain{trace: played, edit: replay.Edit{Accumulate: 4}, fix: &Fix{}}
	g.verdict.Findings, g.costs.Window = []diagnose.Finding{f}, recording.Window{Start: 0, End: 1}
	g.fix.Forecast.Speedup = stoker.Interval{Low: 1, Point: 1.8, High: 1.95}
	g.keepToExchange()
	if s := g.fix.Forecast.Speedup; s.High < 1.17 || s.High > 1.18 { // three quarters of 0.1 and of the optimizer's 0.1
		t.Errorf("%v", s)
	}
}
