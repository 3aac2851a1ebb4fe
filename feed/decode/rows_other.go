//go:build !amd64

package decode

func weighAVX2([]int16, []byte, []byte, int)                                  {}
func convertDoubledAVX2([]byte, int, []byte, []int16, []int16, int, doubling) {}
func convertAVX2([]byte, int, []byte, []byte, []byte, int)                    {}
