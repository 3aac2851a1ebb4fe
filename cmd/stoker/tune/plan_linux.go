package tune

import (
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/takeover"
	"github.com/stoker-dev/stoker/python/hook"
)

// runHooked replaces this process with CMD, with the hook first on Python's path. The variables of
// set tell the hook what to do. If the hook cannot be set up, CMD runs without it.
func runHooked(a *cli.App, command []string, set map[string]string) error {
	return takeover.Become(a, command, "CMD runs with its own settings", func(ours []string) ([]string, error) {
		return plannedEnvironment(ours, set)
	})
}

// runUntuned replaces this process with CMD, unchanged, if it cannot be observed.
func runUntuned(a *cli.App, why string, command []string) error {
	a.Say("nothing is tuned, the command runs as without stoker: %s", why)
	return takeover.Become(a, command, "", func(ours []string) ([]string, error) { return ours, nil })
}

func plannedEnvironment(environment []string, set map[string]string) ([]string, error) {
	folder, err := takeover.KeepHook("plan-hook-", hook.Files)
	if err != nil {
		return nil, err
	}
	return takeover.AddHook(environment, folder, set), nil
}
