package picture

import "github.com/stoker-dev/stoker/feed/kernels"

// Which kernels run here. Without them plain Go gives the same bytes.
var (
	canMix     = kernels.Run(kernels.Mix)
	canEnhance = kernels.Run(kernels.Enhance)
)
