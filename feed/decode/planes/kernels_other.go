//go:build !amd64 && !arm64

package planes

// There are no kernels for this architecture; these are never called.

func weighSIMD([]int16, []byte, []byte, int)                                        {}
func convertDoubledSIMD([]byte, int, []byte, []int16, []int16, int, chromaDoubling) {}
func convertSIMD([]byte, int, []byte, []byte, []byte, int)                          {}
func partSIMD(_, _, _, _ []byte) int                                                { return 0 }
