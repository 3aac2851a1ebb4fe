package trace

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

func TestWhatIf(t *testing.T) {
	code, stdout, stderr := call(t, "trace", "--all", "--what-if", "num_workers=4,sync_every=0", clitest.LoaderCase)
	for _, want := range []string{"num_workers 0 -> 4, take the waits for the device out of the step", "x faster (", "The gains come from replaying the trace", "is the limit"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if code != cli.ExitFine || stderr != "" {
		t.Errorf("exit %d, %s", code, stderr)
	}
	code, stdout, _ = call(t, "trace", "--json", "--what-if", "num_workers=4", clitest.LoaderCase)
	if code != cli.ExitFine || !strings.Contains(stdout, `"usual_latencies_s"`) || !strings.Contains(stdout, `"fix": "what-if"`) {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
}

func TestWhatIfRefused(t *testing.T) {
	for _, text := range []string{"num_workers", "turbo=true", "num_workers=-3", "batch_size=64", "gpu=potato"} {
		code, _, stderr := call(t, "trace", "--what-if", text, clitest.LoaderCase)
		if code != cli.ExitUsage || !strings.Contains(stderr, "--what-if") {
			t.Errorf("%q: exit %d, %s", text, code, stderr)
		}
	}
}
