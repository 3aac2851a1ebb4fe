package feed

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/takeover"
	"github.com/stoker-dev/stoker/python/hook"
)

// runFed replaces this process with CMD, with the hook first on Python's path. So CMD has its own
// exit code, signals and terminal. If the hook cannot be set up, CMD runs without it.
func runFed(a *cli.App, f feedFlags, command []string) error {
	return takeover.Become(a, command, "feed: CMD runs as without stoker", func(ours []string) ([]string, error) {
		return fedEnvironment(ours, f)
	})
}

// fedEnvironment returns CMD's environment: the hook is first on PYTHONPATH, and variables say
// where the client and the binary are.
func fedEnvironment(environment []string, f feedFlags) ([]string, error) {
	folder, err := takeover.KeepHook("feed-hook-", hook.Feed())
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	if own, err := os.Executable(); err == nil {
		if os.Getenv("STOKER_BIN") == "" {
			set["STOKER_BIN"] = own
		}
		beside := filepath.Join(filepath.Dir(filepath.Dir(own)), "python")
		if isFile(filepath.Join(beside, "stoker", "deferred", "deferring.py")) {
			set["STOKER_FEED_PYTHON"] = beside
		}
	}
	if f.compared > 0 {
		set["STOKER_FEED_VERIFY"] = strconv.Itoa(f.compared)
	}
	if f.ray != "" {
		set["STOKER_FEED_RAY"] = f.ray
		if seed := os.Getenv("PYTHONHASHSEED"); seed == "" || seed == "random" {
			// The order of a set of strings is the same in the program and on other nodes.
			set["PYTHONHASHSEED"] = strconv.FormatUint(1+uint64(rand.Uint32N(math.MaxUint32)), 10)
		}
		set["STOKER_FEED_RAY_RESOURCES"], set["STOKER_FEED_RAY_LABELS"] = f.rayResources, f.rayLabels
	}
	if f.workers > 0 {
		set["STOKER_FEED_WORKERS"] = strconv.Itoa(f.workers)
	}
	return takeover.AddHook(environment, folder, set), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
