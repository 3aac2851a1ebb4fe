package tune

import (
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/takeover"
	"github.com/stoker-dev/stoker/python/hook"
)

// runHooked lets CMD take our place, with the hook in front of its Python's path and what
// tells it what to do. Where the hook cannot be put there CMD runs all the same.
func runHooked(a *cli.App, command []string, set map[string]string) error {
	return takeover.Become(a, command, "CMD runs with its own settings", func(ours []string) ([]string, error) {
		return plannedEnvironment(ours, set)
	})
}

// runUntuned lets CMD take our place where it cannot be observed: it runs once, as it is.
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
