//go:build !amd64 && !arm64

package unfilter

// There are no kernels here, and nobody calls this.
func undoMost(byte, []byte, []byte, int) int { return 0 }
