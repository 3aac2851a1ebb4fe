package verify

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

func openServer(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/server-" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A server that keeps up is not faster for being asked more often.
func TestServersThatKeepUpAreNotCompared(t *testing.T) {
	idle, full := openServer(t, "no-load"), openServer(t, "one-at-a-time")
	for _, pair := range [][2]*recording.Run{{idle, full}, {full, idle}} {
		if o := Compare(pair[0], pair[1], predict.NoForecast()); !strings.Contains(o.Refused, "keeps up with its requests") {
			t.Errorf("it says %q, %+v", o.Refused, o.Speedup)
		}
	}
	if o := Compare(full, full, predict.NoForecast()); strings.Contains(o.Refused, "keeps up") {
		t.Errorf("servers that are kept busy: %s", o.Refused)
	}
}
