//go:build !amd64

package decode

func storeBMI2(r *mcuReader, out *blockBuffer, n int) { panic("unreachable") }

func skipBMI2(r *mcuReader, n int) { panic("unreachable") }
