package runs

import (
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/diagnose"
	"github.com/stoker-dev/stoker/cmd/stoker/export"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/observe"
	"github.com/stoker-dev/stoker/cmd/stoker/report"
	"github.com/stoker-dev/stoker/cmd/stoker/verify"
)

func TestMain(m *testing.M) {
	clitest.Main(m, Command, diagnose.Command, observe.Command, advise.Command, export.Command, report.Command, verify.Command)
}

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return clitest.Call(args, Command, diagnose.Command, observe.Command, advise.Command, export.Command, report.Command, verify.Command)
}
