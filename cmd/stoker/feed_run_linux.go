package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
		return fedEnvironment(ours, f.twice)
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
func fedEnvironment(environment []string, twice int) ([]string, error) {
	folder, err := hookFolder("feed-hook-", map[string][]byte{"sitecustomize.py": hook.Feed})
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	if own, err := os.Executable(); err == nil {
		if os.Getenv("STOKER_BIN") == "" {
			set["STOKER_BIN"] = own
		}
		if beside := filepath.Join(filepath.Dir(filepath.Dir(own)), "python"); isFile(filepath.Join(beside, "stoker",
			"_defer.py")) {
			set["STOKER_FEED_PYTHON"] = beside
		}
	}
	if twice > 0 {
		set["STOKER_FEED_VERIFY"] = strconv.Itoa(twice)
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

// hookFolder is a folder that this user alone can write, with a hook's files in it.
func hookFolder(prefix string, files map[string][]byte) (folder string, err error) {
	hash := sha256.New()
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(files[name]), files[name])
	}
	err = private.Try(func(place string) error {
		folder = filepath.Join(place, prefix+hex.EncodeToString(hash.Sum(nil)[:8]))
		if strings.ContainsRune(folder, os.PathListSeparator) {
			return fmt.Errorf("%s has a character that separates folders in PYTHONPATH", folder)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		for _, name := range names {
			if err := writeHook(filepath.Join(folder, name), files[name]); err != nil {
				return err
			}
		}
		return nil
	})
	return folder, err
}

// writeHook writes a file of a hook where it does not lie already; who reads it
// meanwhile sees the whole of it.
func writeHook(path string, source []byte) error {
	if found, err := os.ReadFile(path); err == nil && bytes.Equal(found, source) {
		return nil
	}
	own := path + "." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(own, source, 0o600); err != nil {
		return errors.Join(err, os.Remove(own))
	}
	return os.Rename(own, path)
}
