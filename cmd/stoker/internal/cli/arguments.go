package cli

import (
	"regexp"
)

// aBound matches an argument that is a bound, and so the value of --check before it. pflag does
// not use the next argument as the value of a flag whose value is optional.
var aBound = regexp.MustCompile(`^\s*(stall|idle|step|faster)\s*[<>=]|<`)

// joinChecks turns --check 'stall<10%' into --check='stall<10%'. It stops at --, which begins the
// arguments of another command.
func joinChecks(args []string) []string {
	joined := make([]string, 0, len(args)) // cobra takes nil for the arguments of the process
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		if args[i] == "--check" && i+1 < len(args) && aBound.MatchString(args[i+1]) {
			joined = append(joined, "--check="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}
