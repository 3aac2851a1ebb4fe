package watch

import (
	"context"
	"io"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/observe"
)

func TestMain(m *testing.M) { clitest.Main(m, Command) }

func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return clitest.Call(args, Command, observe.Command)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return clitest.Run(ctx, args, stdin, stdout, stderr, Command, observe.Command)
}
