package decode

func storeFast(r *mcuReader, out *blockBuffer, n int) { storeHuffman(r, out, n, &place) }

func skipFast(r *mcuReader, n int) { skipHuffman(r, n) }
