package decode

func storeFast(r *mcuReader, out *blockBuffer, n int) { storeBMI2(r, out, n) }

func skipFast(r *mcuReader, n int) { skipBMI2(r, n) }

// storeBMI2 is storePlain. The reader must satisfy assembly(), and n MCUs must fit into out.
//
//go:noescape
func storeBMI2(r *mcuReader, out *blockBuffer, n int)

// skipBMI2 is skipPlain. The reader must satisfy assembly().
//
//go:noescape
func skipBMI2(r *mcuReader, n int)
