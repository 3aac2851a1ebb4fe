package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/private"
	"github.com/stoker-dev/stoker/python/hook"
)

// runFed lets CMD take our place, with the hook in front of its Python's path: its
// exit code, its signals and its terminal are its own. Where the hook cannot be put
// there CMD runs all the same.
func (a *app) runFed(f feedFlags, command []string) error {
	return a.become(command, "feed: CMD runs as without stoker", func(ours []string) ([]string, error) {
		return fedEnvironment(ours, f.compared)
	})
}

// become lets CMD take our place, in an environment that is made of ours, or in ours
// where that cannot be made.
func (a *app) become(command []string, otherwise string, environment func(ours []string) ([]string, error)) error {
	path, err := launch.Find(command[0])
	if err == nil {
		env, wrong := environment(os.Environ())
		if wrong != nil {
			a.say("%s: %v", otherwise, wrong)
			env = os.Environ()
		}
		err = launch.Command{Path: path, Words: command, Env: env, Files: launch.Standard()}.Exec()
	}
	return a.notBegun(err)
}

// fedEnvironment is CMD's: the hook first on PYTHONPATH, and where the client and the
// binary are.
func fedEnvironment(environment []string, batches int) ([]string, error) {
	folder, err := keepHook("feed-hook-", hook.Feed())
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
	if batches > 0 {
		set["STOKER_FEED_VERIFY"] = strconv.Itoa(batches)
	}
	return hookedEnvironment(environment, folder, set), nil
}

// hookedEnvironment is an environment with a hook's folder first on PYTHONPATH, and
// some variables set.
func hookedEnvironment(environment []string, folder string, set map[string]string) []string {
	set["PYTHONPATH"] = folder
	var kept []string
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if name == "PYTHONPATH" && value != "" {
			set[name] += string(os.PathListSeparator) + value
		}
		if _, ours := set[name]; !ours {
			kept = append(kept, entry)
		}
	}
	for name, value := range set {
		kept = append(kept, name+"="+value)
	}
	return kept
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// keepHook puts a hook's files where this user alone can write.
func keepHook(prefix string, files fs.FS) (folder string, err error) {
	err = private.Try(func(place string) (err error) {
		folder, err = private.KeepScripts(place, prefix, files)
		return err
	})
	return folder, err
}
