package transform

import "github.com/stoker-dev/stoker/feed/kernels"

// hasSIMD says whether the kernels that take bytes to bytes run here.
var hasSIMD = kernels.Run(kernels.Resample)

// canNormalize reports whether the kernel runs here that writes numbers of a type.
func canNormalize(dtype string) bool {
	if dtype == "float16" {
		return kernels.Run(kernels.NormalizeHalf)
	}
	return kernels.Run(kernels.Normalize)
}
