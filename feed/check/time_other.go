//go:build !unix

package check

import "time"

func processorTime() time.Duration { return 0 }
