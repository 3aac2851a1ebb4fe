package redact

import (
	"regexp"
	"sync"
)

// pattern returns a regular expression that is compiled at its first use: compiling all of them
// takes 4 ms, and most runs of the program use none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
