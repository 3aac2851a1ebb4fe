package takeover

import (
	"io/fs"
	"os"
	"strings"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/private"
)

// Become lets CMD take our place, in an environment that is made of ours, or in ours
// where that cannot be made.
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

// AddHook is an environment with a hook's folder first on PYTHONPATH, and
// some variables set.
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

// KeepHook puts a hook's files where this user alone can write.
func KeepHook(prefix string, files fs.FS) (folder string, err error) {
	err = private.Try(func(place string) (err error) {
		folder, err = private.KeepScripts(place, prefix, files)
		return err
	})
	return folder, err
}
