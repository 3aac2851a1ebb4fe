package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stoker-dev/stoker/observe/hook"
)

// runApplied lets CMD take our place, with the hook in front of its Python's path.
// Where the hook cannot be put there CMD runs all the same.
func (a *app) runApplied(plan string, command, allow []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return a.notRun(err)
	}
	environment, err := appliedEnvironment(os.Environ(), plan, allow)
	if err != nil {
		a.say("apply: CMD runs with its own settings: %v", err)
		environment = os.Environ()
	}
	return a.notRun(fmt.Errorf("run %s: %w", path, syscall.Exec(path, command, environment)))
}

func appliedEnvironment(environment []string, plan string, allow []string) ([]string, error) {
	files := map[string][]byte{}
	entries, err := hook.Files.ReadDir(".")
	for _, entry := range entries {
		files[entry.Name()], err = hook.Files.ReadFile(entry.Name())
		if err != nil {
			break
		}
	}
	if err == nil {
		plan, err = filepath.Abs(plan)
	}
	if err != nil {
		return nil, err
	}
	folder, err := hookFolder("apply-hook-", files)
	if err != nil {
		return nil, err
	}
	return hookedEnvironment(environment, folder, map[string]string{"STOKER_APPLY": plan, "STOKER_APPLY_ALLOW": strings.Join(allow, ",")}), nil
}
