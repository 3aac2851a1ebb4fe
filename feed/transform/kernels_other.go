//go:build !amd64

package transform

func sumRowsAVX2([]byte, []byte, int, []uint64, int)             {}
func sumGroupsAVX2([]byte, int, []byte, int, *kernelTable)       {}
func sumChunksAVX2([]byte, int, []byte, int, *kernelTable)       {}
func streamAVX2([]byte, []byte)                                  {}
func fence()                                                     {}
func interleaveAVX2([]byte, []byte, int, int)                    {}
func (a *affine) convertPixels(_, _ []byte, _ int, _ string) int { return 0 }
