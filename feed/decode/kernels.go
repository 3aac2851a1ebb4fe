package decode

import "github.com/stoker-dev/stoker/feed/kernels"

// Which routines in assembly run here; tests switch them off.
var (
	useBMI2 = kernels.Huffman.Runs()
	useAVX2 = kernels.InverseDCT.Runs()
)

// HasSIMD says whether the kernels of Rows run here.
var HasSIMD = kernels.Colour.Runs()
