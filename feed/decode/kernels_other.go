//go:build !amd64 && !arm64

package decode

// There are no kernels here, and nobody calls these.

func weighSIMD([]int16, []byte, []byte, int)                                        {}
func convertDoubledSIMD([]byte, int, []byte, []int16, []int16, int, chromaDoubling) {}
func convertSIMD([]byte, int, []byte, []byte, []byte, int)                          {}
func idctApart(*[128]int16, *pairQuant, *byte, *byte, int) bool                     { return false }
func idctTogether(*[128]int16, *pairQuant, []byte, int) bool                        { return false }
func storeFast(*mcuReader, *blockBuffer, int)                                       {}
func skipFast(*mcuReader, int)                                                      {}
