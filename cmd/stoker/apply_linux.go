package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/stoker-dev/stoker/observe/hook"
)

// runApplied lets CMD take our place, with the hook in front of its Python's path and what
// tells it what to do. Where the hook cannot be put there CMD runs all the same.
func (a *app) runApplied(command []string, set map[string]string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return a.notRun(err)
	}
	environment, err := appliedEnvironment(os.Environ(), set)
	if err != nil {
		a.say("CMD runs with its own settings: %v", err)
		environment = os.Environ()
	}
	return a.notRun(fmt.Errorf("run %s: %w", path, syscall.Exec(path, command, environment)))
}

func appliedEnvironment(environment []string, set map[string]string) ([]string, error) {
	files := map[string][]byte{}
	entries, err := hook.Files.ReadDir(".")
	for _, entry := range entries {
		files[entry.Name()], err = hook.Files.ReadFile(entry.Name())
		if err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	folder, err := hookFolder("apply-hook-", files)
	if err != nil {
		return nil, err
	}
	return hookedEnvironment(environment, folder, set), nil
}
