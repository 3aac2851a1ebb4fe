package pipeline

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/verify"
)

// A stall of which only an upper limit is known passes a bound above that limit.
func TestCheckOfWhatIsPartlyKnown(t *testing.T) {
	known := func(stall, idle float64, source diagnose.Source) diagnose.Verdict {
		return diagnose.Verdict{Class: diagnose.Unknown, Stall: stall, Idle: idle, StallSource: source}
	}
	nan := math.NaN()
	for _, c := range []struct {
		check string
		v     diagnose.Verdict
		want  string // "" passes
	}{
		{"fed", known(0.05, 0.10, diagnose.DeviceEvents), ""},
		{"fed", known(0.05, 0.11, diagnose.DeviceEvents), "idle 11 %"},
		{"fed", known(nan, 0.78, diagnose.NoSource), "idle 78 %"},
		{"fed", known(0.05, nan, diagnose.HostWait), ""},
		{"fed", known(0.11, nan, diagnose.DeviceEvents), "stall 11 %"},
		{"fed", known(nan, nan, diagnose.NoSource), "neither"},
		{"stall<10%", known(nan, 0.05, diagnose.NoSource), ""}, // it is no more than idle
		{"stall<10%", known(nan, 0.78, diagnose.NoSource), "stall at most 78 %"},
		{"stall<10%", known(0.78, 0.78, diagnose.Utilisation), "stall at most 78 %"},
		{"stall<10%", known(0.1, 0.2, diagnose.DeviceEvents), "stall 10 %"},
		{"stall<=10%", known(0.1, 0.2, diagnose.DeviceEvents), ""},
	} {
		var check Check
		if err := check.Set(c.check); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(check.FindFailures(c.v), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("--check %s, stall %v, idle %v: %q, want %q", c.check, c.v.Stall, c.v.Idle, got, c.want)
		}
	}
}

// A missed promise fails. An undecided one passes, with a line that says so.
func TestCheckPromise(t *testing.T) {
	for kept, c := range map[verify.PromiseState]struct {
		code int
		want string
	}{
		verify.PromiseKept:      {cli.ExitFine, ""},
		verify.PromiseReached:   {cli.ExitFine, ""},
		verify.PromiseExceeded:  {cli.ExitFine, ""},
		verify.NotPromised:      {cli.ExitFine, ""},
		verify.PromiseUndecided: {cli.ExitFine, "longer runs would tell"},
		verify.PromiseMissed:    {cli.ExitMissed, "the prediction was missed"},
	} {
		var said bytes.Buffer
		a := &cli.App{Stderr: &said}
		err := EnforcePromise(a, &Check{promise: true}, verify.Outcome{Promise: verify.Promise{Kept: kept}})
		var code cli.ExitCode
		if errors.As(err, &code); int(code) != c.code || !strings.Contains(said.String(), c.want) || c.want == "" && said.Len() > 0 {
			t.Errorf("%s: %v, said %q", kept, err, said.String())
		}
	}
}
