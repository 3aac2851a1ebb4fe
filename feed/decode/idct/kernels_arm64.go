package idct

// idctFactors are the kernel's factors; kernels/neon/c/idct.c gives their order.
var idctFactors = [16]int16{
	f0541, f0541 - f1847, f0541 + f0765,
	f1175 - f1961, f1175 - f0390, f1175,
	f0298 - f0899, -f0899, f1501 - f0899,
	f2053 - f2562, -f2562, f3072 - f2562,
}

func transformApart(blocks *[128]int16, q *PairQuant, a, b *byte, stride int) bool {
	idctTwo(blocks, (*[128]int16)(q), a, b, stride, &idctFactors)
	return true
}

func transformTogether(blocks *[128]int16, q *PairQuant, a []byte, stride int) bool {
	return transformApart(blocks, q, &a[0], &a[8], stride)
}
