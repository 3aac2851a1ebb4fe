package takeover

import (
	"io/fs"
	"os"
	"strings"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/private"
)

// Become replaces this process with CMD. environment makes CMD's environment from ours. If it
// fails, a line beginning with otherwise says why, and CMD gets our environment.
func Become(a *cli.App, command []string, otherwise string, environment func(ours []string) ([]string, error)) error {
	path, err := launch.Find(command[0])
	if err == nil {
		env, wrong := environment(os.Environ())
		if wrong != nil {
			a.Say("%s: %v", otherwise, wrong)
			env = os.Environ()
		}
		err = launch.Command{Path: path, Words: command, Env: env, Files: launch.Standard()}.Exec()
	}
	return ReportFailure(a, err)
}

// AddHook returns an environment with a hook's folder first on PYTHONPATH, and with the variables
// of set.
func AddHook(environment []string, folder string, set map[string]string) []string {
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

// KeepHook writes a hook's files to a folder that only this user can write to.
func KeepHook(prefix string, files fs.FS) (folder string, err error) {
	err = private.Try(func(place string) (err error) {
		folder, err = private.KeepScripts(place, prefix, files)
		return err
	})
	return folder, err
}
