//go:build !amd64

package decode

func idctApartAVX2(blocks, q *[128]int16, a, b *byte, stride int) bool { panic("unreachable") }

func idctBesideAVX2(blocks, q *[128]int16, a *byte, stride int) bool { panic("unreachable") }
