//go:build !amd64 && !arm64

package decode

// There are no kernels for this architecture; these are never called.

func storeFast(*mcuReader, *blockBuffer, int) {}
func skipFast(*mcuReader, int)                {}
