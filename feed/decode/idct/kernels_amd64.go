package idct

func transformApart(blocks *[128]int16, q *PairQuant, a, b *byte, stride int) bool {
	return idctApartAVX2(blocks, (*[128]int16)(q), a, b, stride)
}

func transformTogether(blocks *[128]int16, q *PairQuant, a []byte, stride int) bool {
	return idctBesideAVX2(blocks, (*[128]int16)(q), &a[0], stride)
}
