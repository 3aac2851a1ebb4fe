package decode

import "unsafe"

// The compiler reports an error if the offset of a field differs from kernels/neon/c/huffman.c.
const (
	_ = -(unsafe.Offsetof(table{}.last) ^ 4096)
	_ = -(unsafe.Offsetof(table{}.off) ^ 4168)
	_ = -(unsafe.Offsetof(table{}.syms) ^ 4240)
	_ = -(unsafe.Offsetof(table{}.diff) ^ 4496)
	_ = -(unsafe.Offsetof(table{}.pair) ^ 6544)
	_ = -(unsafe.Offsetof(table{}.skip) ^ 14736)
	_ = -(unsafe.Offsetof(mcuReader{}.end) ^ 24)
	_ = -(unsafe.Offsetof(mcuReader{}.pos) ^ 32)
	_ = -(unsafe.Offsetof(mcuReader{}.buf) ^ 40)
	_ = -(unsafe.Offsetof(mcuReader{}.n) ^ 48)
	_ = -(unsafe.Offsetof(mcuReader{}.dry) ^ 64)
	_ = -(unsafe.Offsetof(mcuReader{}.blocks) ^ 72)
	_ = -(unsafe.Offsetof(mcuReader{}.plan) ^ 80)
	_ = -(unsafe.Offsetof(mcuReader{}.pred) ^ 320)
	_ = -(unsafe.Sizeof(blockPlan{}) ^ 24)
)
