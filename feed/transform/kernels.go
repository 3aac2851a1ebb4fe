package transform

import "github.com/stoker-dev/stoker/feed/kernels"

// hasSIMD says whether the kernels from bytes to bytes run here.
var hasSIMD = kernels.Run(kernels.Resample)

// canNormalize reports whether the kernel for numbers of type dtype runs here.
func canNormalize(dtype string) bool {
	if dtype == "float16" {
		return kernels.Run(kernels.NormalizeHalf)
	}
	return kernels.Run(kernels.Normalize)
}
