package install

import (
	"context"
	"io"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, Command) }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return clitest.Run(ctx, args, stdin, stdout, stderr, Command)
}
