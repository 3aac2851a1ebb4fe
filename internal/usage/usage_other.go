//go:build !unix

package usage

import "time"

// Processor is what this process has used of processors so far: not known here.
func Processor() time.Duration { return 0 }
