//go:build !unix

package watch

import "os"

func shellBehind() bool { return false }

func endings() []os.Signal { return []os.Signal{os.Interrupt} }
