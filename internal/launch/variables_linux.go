package launch

import (
	"os"
	"slices"
	"strings"
)

// hidden stands in place of a G, where Go's runtime is not to read a variable.
const hidden = '\x01'

const goDebug = "GODEBUG="

// runtimeVariables are those that Go's runtime reads.
var runtimeVariables = [...]string{goDebug, "GOGC=", "GOMAXPROCS=", "GOMEMLIMIT=", "GOTRACEBACK="}

// environment is the command's, with the variables that stoker_entry hid.
func (c Command) environment() []string {
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
