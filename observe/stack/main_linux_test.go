package stack

import (
	"os"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
)

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }
