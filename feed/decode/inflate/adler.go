package inflate

import "hash/adler32"

// checksum is Adler-32. The kernel takes a tenth of the time.
func checksum(data []byte) uint32 {
	if !Assembly {
		return adler32.Checksum(data)
	}
	const (
		modulus = 65521
		block   = 32
		most    = 1 << 15 // bytes whose sums do not overflow
	)
	a, b := uint64(1), uint64(0)
	for len(data) >= block {
		n := min(len(data), most) &^ (block - 1)
		var parts [24]uint32
		adlerSums(&parts[0], &data[0], n)
		var sums [3]uint64
		for i, part := range parts {
			sums[i/8] += uint64(part)
		}
		b = (b + a*uint64(n) + block*sums[1] + sums[2]) % modulus
		a = (a + sums[0]) % modulus
		data = data[n:]
	}
	for _, v := range data {
		a += uint64(v)
		b += a
	}
	return uint32(b%modulus<<16 | a%modulus)
}
