package redact

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: all of them
// take 4 ms, and most starts of the program use none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
