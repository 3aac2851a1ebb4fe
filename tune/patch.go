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

// Patch is what a plan is as a change of the script: a unified diff, and in sentences
// what could not be changed surely. folder is what names of files are relative to.
func Patch(ctx context.Context, p Plan, folder string) (diff string, left []string, err error) {
	for _, c := range p.Program {
		left = append(left, fmt.Sprintf("%s is no argument of a DataLoader: write %s", c, statements[c.Setting][c.To]))
	}
	for _, l := range p.Loaders {
		set := map[string]any{}
		for _, c := range l.Changes {
			if feeds(c) {
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

// interpreter is the Python that a command line names, else the one on PATH.
func interpreter(command []string) string {
	if len(command) > 0 && python.MatchString(filepath.Base(command[0])) {
		return command[0]
	}
	return "python3"
}
