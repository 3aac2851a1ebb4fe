//go:build !amd64 && !arm64

package decode

// There are no kernels here, and nobody calls these.

func storeFast(*mcuReader, *blockBuffer, int) {}
func skipFast(*mcuReader, int)                {}
