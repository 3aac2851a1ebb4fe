//go:build !amd64

package transform

const hasSIMD = false

func sumRowsAVX2([]byte, []byte, int, []uint64, int)       {}
func sumGroupsAVX2([]byte, int, []byte, int, *table)       {}
func sumChunksAVX2([]byte, int, []byte, int, *table)       {}
func sumNarrowRowsAVX2([]byte, []byte, int, []uint32) bool { return false }
func sumNarrowAVX2([]byte, int, []byte, int, *narrowSteps) {}
func streamAVX2([]byte, []byte)                            {}
func fence()                                               {}
func interleaveAVX2([]byte, []byte, int, int)              {}
func (a *affine) write(_, _ []byte, _ int, _ string) int   { return 0 }
