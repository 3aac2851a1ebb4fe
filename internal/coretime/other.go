//go:build !unix

package coretime

import "time"

// Used returns 0: the core time is unknown here.
func Used() time.Duration { return 0 }
