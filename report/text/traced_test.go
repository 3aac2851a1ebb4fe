package text_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
)

func TestCapture(t *testing.T) {
	for want, d := range map[string]judge.Slowdown{
		"23 steps took 12 ms in the mean and at most 50 ms, before it 10 ms (40 steps): +20 %, +46 ms in all": {Before: 0.01, During: 0.012, Worst: 0.05, Extra: 0.046, Base: 40, Steps: 23},
		"+0 %, -1 ms in all":        {Before: 0.01, During: 0.01, Worst: 0.01, Extra: -0.001, Base: 40, Steps: 23},
		"too few steps were seen":   {Before: math.NaN(), During: math.NaN(), Extra: math.NaN(), Base: 2, Steps: 9},
		"neither is what it cost":   {Before: math.NaN(), During: math.NaN(), Extra: math.NaN()},
		"from the request to the f": {Before: math.NaN(), During: math.NaN(), Extra: math.NaN()},
	} {
		var b strings.Builder
		if err := text.WriteCapture(&b, recording.Capture{From: 1, To: 2.5}, d); err != nil || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "NaN") {
			t.Errorf("want %q: %q %v", want, b.String(), err)
		}
	}
}
