//go:build !amd64 && !arm64

package idct

// There are no kernels for this architecture; these are never called.

func transformApart(*[128]int16, *PairQuant, *byte, *byte, int) bool { return false }
func transformTogether(*[128]int16, *PairQuant, []byte, int) bool    { return false }
