package launch

import (
	"os"
	"slices"
	"strings"
)

// hidden replaces the first letter of a variable that Go's runtime must not read.
const hidden = '\x01'

const goDebug = "GODEBUG="

// runtimeVariables lists the variables that Go's runtime reads.
var runtimeVariables = [...]string{goDebug, "GOGC=", "GOMAXPROCS=", "GOMEMLIMIT=", "GOTRACEBACK="}

// commandEnvironment returns the command's environment, with the variables that stoker_entry hid
// restored.
func (c Command) commandEnvironment() []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.Clone(env)
	for i, entry := range env {
		for _, name := range runtimeVariables {
			if value, is := strings.CutPrefix(entry, string(hidden)+name[1:]); is {
				env[i] = name + value
			}
		}
	}
	return env
}
