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

// runUntuned lets CMD take our place where it cannot be observed: it runs once, as it is.
func (a *app) runUntuned(why string, command []string) error {
	a.say("nothing is tuned, the command runs as without stoker: %s", why)
	return a.become(command, "", func(ours []string) ([]string, error) { return ours, nil })
}

func plannedEnvironment(environment []string, set map[string]string) ([]string, error) {
	folder, err := keepHook("plan-hook-", hook.Files)
	if err != nil {
		return nil, err
	}
	return hookedEnvironment(environment, folder, set), nil
}
