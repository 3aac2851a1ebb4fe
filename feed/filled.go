package feed

import (
	"time"

	"github.com/stoker-dev/stoker/feed/order"
)

// Filled is a batch that is complete in its slot, or the reason why it is not.
type Filled struct {
	Epoch    uint64
	Step     int
	Count    int   // samples in the slot, padding included
	Consumed int   // by all ranks together, when this step is done on all of them
	Mask     []int // places that must not count in the loss: padded or masked
	Bad      []Bad
	Inexact  []Inexact
	Formats  map[string]int // samples by the format in their header: "jpeg", "progressive jpeg", "png", ...
	Stages   Stages
	Finished time.Time
	// Err is why the batch cannot be used: a bad sample if Spec.OnError is "fail", too many bad
	// samples, or an *Unmade.
	Err error

	samples []int // the plan's samples for this batch, without padding
}

// Own returns the digest and the number of the plan's samples for this batch, without padding.
func (f Filled) Own() (digest order.BagDigest, samples int) {
	for _, sample := range f.samples {
		digest.Add(sample)
	}
	return digest, len(f.samples)
}

// Stages are seconds, summed over the samples of a batch.
type Stages struct {
	Read      float64 `json:"read"`
	Decode    float64 `json:"decode"`
	Transform float64 `json:"transform"`
}

// Bad describes a bad sample of a batch.
type Bad struct {
	Index   int    `json:"index"` // of the sample
	Path    string `json:"path"`
	Reason  string `json:"reason"`
	Kind    string `json:"kind"`
	Instead *int   `json:"instead,omitempty"` // the sample that is used instead

	place int // in the batch
}

// Inexact is a sample whose bytes may differ from Pillow's.
type Inexact struct {
	Index  int    `json:"index"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
