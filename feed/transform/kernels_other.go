//go:build !amd64 && !arm64

package transform

func sumRowsSIMD([]byte, []byte, int, []rowWeight, int)              {}
func sumGroupsSIMD([]byte, int, []byte, int, *kernelTable)           {}
func sumChunksSIMD([]byte, int, []byte, int, *kernelTable)           {}
func streamSIMD([]byte, []byte)                                      {}
func fence()                                                         {}
func interleaveSIMD(_, _, _, _ []byte) int                           { return 0 }
func (a *scaleShift) convertPixels(_, _ []byte, _ int, _ string) int { return 0 }
