package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/python/hook"
)

var python = regexp.MustCompile(`^python[0-9.]*$`)

// Patch turns a plan into a unified diff of the script. left lists, in sentences, the changes
// that cannot be made with certainty. Paths in the diff are relative to folder.
func Patch(ctx context.Context, p Plan, folder string) (diff string, left []string, err error) {
	for _, c := range p.Program {
		left = append(left, fmt.Sprintf("%s is not an argument of a DataLoader: write %s", c, statements[c.Setting][c.To]))
	}
	for _, l := range p.Loaders {
		set := map[string]any{}
		for _, c := range l.Changes {
			if usesOwnLoader(c) {
				left = append(left,
					"pictures made by stoker are no change of the script: stoker feed -- CMD, or stoker tune --plan "+
						"with the plan")
				continue
			}
			set[string(c.Setting)] = c.To
		}
		if len(set) == 0 {
			continue
		}
		d, more, err := patchLoader(ctx, interpreter(p.Command), l, set, folder)
		if err != nil {
			return "", nil, err
		}
		diff, left = diff+d, append(left, more...)
	}
	return diff, left, nil
}

// patchLoader returns the diff for the call of one DataLoader; left lists the settings that it
// does not change.
func patchLoader(ctx context.Context, python string, l Loader, set map[string]any, folder string,
) (diff string, left []string, err error) {
	path := file(l.Call)
	line, err := strconv.Atoi(strings.TrimPrefix(l.Call, path+":"))
	if err != nil {
		return "", nil, fmt.Errorf("patch %s: %w", l.Call, err)
	}
	name, err := filepath.Rel(folder, path)
	if err != nil || strings.HasPrefix(name, "..") {
		name = strings.TrimPrefix(path, "/")
	}
	asked, err := json.Marshal(map[string]any{"file": path, "line": line, "name": name, "set": set})
	if err != nil {
		return "", nil, err
	}
	command := exec.CommandContext(ctx, python, "-I", "-c", hook.Patch)
	command.Stdin = bytes.NewReader(asked)
	text, err := command.Output()
	var found struct {
		Diff string
		Left []struct{ Setting, Why string }
	}
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return "", nil, fmt.Errorf("patch %s: %w", l.Call, err)
	}
	for _, one := range found.Left {
		left = append(left, fmt.Sprintf("%s at %s: %s", one.Setting, l.Call, one.Why))
	}
	return withoutSecrets(found.Diff), left, nil
}

// interpreter returns the Python that a command line names, or python3.
func interpreter(command []string) string {
	if len(command) > 0 && python.MatchString(filepath.Base(command[0])) {
		return command[0]
	}
	return "python3"
}
