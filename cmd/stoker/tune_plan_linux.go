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
	folder, err := keepHook("plan-hook-", hook.Files)
	if err != nil {
		return nil, err
	}
	return hookedEnvironment(environment, folder, set), nil
}
