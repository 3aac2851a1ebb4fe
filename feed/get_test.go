package feed

import "fmt"

// single is one sample.
type single struct {
	Image   []byte // the tensor
	Label   int
	Path    string
	Inexact string // why the bytes may differ from Pillow's; "": they do not
}

// get makes one sample of an epoch for inspection: the bytes are the same as in training. A bad
// sample is an error under every policy.
func (l *Loader) get(epoch uint64, sample int) (single, error) {
	if sample < 0 || sample >= l.samples {
		return single{}, fmt.Errorf("sample %d: there are the samples 0 to %d", sample, l.samples-1)
	}
	to := memory(make([]byte, l.layout.Sample))
	made, trouble := newWorker(l.pool).makeSample(l, errand{epoch, sample}, to)
	if trouble != nil {
		return single{}, fmt.Errorf("bad sample %d: %w", sample, trouble)
	}
	return single{Image: to, Label: l.labelOf(sample), Path: l.pathOf(sample), Inexact: made.inexact}, nil
}

// memory is a slot for one sample, not shared with others.
type memory []byte

func (m memory) enterSlot() ([]byte, bool) { return m, true }
func (m memory) nameSample(int)            {}
func (m memory) leaveSlot()                {}
