package predict

import (
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, Command) }

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return clitest.Call(args, Command)
}
