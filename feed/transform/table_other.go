//go:build !amd64 && !arm64

package transform

// There are no kernels for this architecture, so their tables are never built.

type rowWeight uint32

func appendRowWeights(weights []rowWeight, _ []int32) []rowWeight { return weights }

const (
	stepPixels = 1
	mostSteps  = 0
	cellBytes  = 0
)

func (t *kernelTable) setCells([]byte, byte, []int32) {}

func (t *kernelTable) buildChunks(*weights) int { return 0 }
