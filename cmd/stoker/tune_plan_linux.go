package main

import (
	"github.com/stoker-dev/stoker/python/hook"
)

// runHooked lets CMD take our place, with the hook in front of its Python's path and what
// tells it what to do. Where the hook cannot be put there CMD runs all the same.
func (a *app) runHooked(command []string, set map[string]string) error {
	return a.become(command, "CMD runs with its own settings", func(ours []string) ([]string, error) {
		return plannedEnvironment(ours, set)
	})
}

func plannedEnvironment(environment []string, set map[string]string) ([]string, error) {
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
	folder, err := hookFolder("plan-hook-", files)
	if err != nil {
		return nil, err
	}
	return hookedEnvironment(environment, folder, set), nil
}
