package stack

import (
	"os"
	"testing"

	"stoker/internal/leash"
)

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }
