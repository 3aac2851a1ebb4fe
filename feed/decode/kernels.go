package decode

import "github.com/stoker-dev/stoker/feed/kernels"

// Which routines in assembly run here; tests switch them off.
var (
	useHuffman = kernels.Run(kernels.Huffman)
	useIDCT    = kernels.Run(kernels.InverseDCT)
)

// HasSIMD says whether the kernels of Rows run here.
var HasSIMD = kernels.Run(kernels.Colour)
