//go:build !amd64 && !arm64

package unfilter

// There are no kernels for this architecture; this is never called.
func undoMost(byte, []byte, []byte, int) int { return 0 }
