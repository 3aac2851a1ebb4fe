//go:build !amd64 && !arm64

package transform

func sumRowsSIMD([]byte, []byte, int, []rowWeight, int)              {}
func sumGroupsSIMD([]byte, int, []byte, int, *kernelTable)           {}
func sumChunksSIMD([]byte, int, []byte, int, *kernelTable)           {}
func packShadesSIMD([]float64, Shades, int) int                      { return 0 }
func sumShadesSIMD(Shades, int, []float64, *shadeTable, int)         {}
func sumShadesDownSIMD(_, _ Shades, _ int, _ []float64)              {}
func streamSIMD([]byte, []byte)                                      {}
func fence()                                                         {}
func interleaveSIMD(_, _, _, _ []byte) int                           { return 0 }
func (a *scaleShift) convertPixels(_, _ []byte, _ int, _ string) int { return 0 }
