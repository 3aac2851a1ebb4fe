package cli

import (
	"regexp"
)

// aBound tells a value of --check that stands apart from what else may stand there:
// a flag whose value may be missing takes none of the next argument by itself.
var aBound = regexp.MustCompile(`^\s*(stall|idle|step|faster)\s*[<>=]|<`)

// joinChecks turns --check 'stall<10%' into --check='stall<10%', up to the --
// behind which arguments are somebody else's.
func joinChecks(args []string) []string {
	var joined []string
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
