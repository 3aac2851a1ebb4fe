package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// lookedInto is a run of which some steps were looked into.
func lookedInto() *recording.Run {
	run := &recording.Run{}
	for i := range 100 {
		s := recording.Step{
			PID: 7, N: i, Start: float64(i) / 10, Period: 0.1, Phase: recording.Train, Wait: 0.03, Samples: 16,
			Optimized: 1, Idle: 0.025, DevicePeriod: 0.1,
		}
		if i%5 == 0 {
			s.Inside = &recording.Inside{
				Clock: "cuda", Span: 0.1, Input: 0.025, Copy: 0.005, Forward: 0.02 + float64(i)/1e5, Backward: 0.04, Optimizer: 0.0001,
				Copies: new(1.0), CopyBytes: new(2e6), Pageable: new(2e6), Syncs: new(1.0), SyncTime: new(0.03),
			}
		}
		run.Steps = append(run.Steps, s)
	}
	return run
}

func TestInsideOfAStepIsShown(t *testing.T) {
	run := lookedInto()
	v := judge.Judge(run)
	var shown, object bytes.Buffer
	if err := text.WriteVerdict(&shown, run, v, advise.Plan{}, text.Style{}); err != nil {
		t.Fatal(err)
	}
	want := `
  inside   of a step, on the device's own clock, in 19 of 97 steps
  part           mean   share      p95
  input wait    25 ms    25 %    25 ms
  copy in        5 ms     5 %     5 ms
  forward     20.5 ms  20.5 %  20.9 ms
  backward      40 ms    40 %    40 ms
  rest         9.4 ms   9.4 %  9.81 ms
  per step 1 wait for the device (30 ms), 2 MB of copies in, 100 % of them pageable
`
	if !strings.Contains(shown.String(), want) {
		t.Errorf("got:\n%s\nwant in it:%s", shown.String(), want)
	}
	if err := wire.WriteVerdict(&object, run, v, advise.Plan{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"part": "backward"`, `"parts_clock": "cuda"`, `"parts_count": 19`, `"pageable_bytes": 2000000`, `"launches": null`} {
		if !strings.Contains(object.String(), want) {
			t.Errorf("%s is not in\n%s", want, object.String())
		}
	}
	for i := range run.Steps {
		run.Steps[i].Inside = nil
	}
	shown.Reset()
	if err := text.WriteVerdict(&shown, run, judge.Judge(run), advise.Plan{}, text.Style{}); err != nil || strings.Contains(shown.String(), "inside") || strings.Contains(shown.String(), "NaN") {
		t.Errorf("%v: of steps that nobody looked into:\n%s", err, shown.String())
	}
}
