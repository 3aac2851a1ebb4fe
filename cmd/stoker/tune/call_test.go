package tune

import (
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/runs"
)

func TestMain(m *testing.M) { clitest.Main(m, Command, advise.Command, runs.Command) }

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return clitest.Call(args, Command, advise.Command, runs.Command)
}
