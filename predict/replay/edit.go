package replay

import "github.com/stoker-dev/stoker/hardware"

// Edit is a change to a recorded program. The zero value changes nothing; all fields that are
// set are played together.
type Edit struct {
	NoLoading bool // batches are there when the loop asks: the ceiling of every input fix
	Workers   int  // this many worker processes prepare batches; 0: as recorded
	Times     int  // this many times as many workers as recorded, where their number is not known; 0: as many
	Prefetch  int  // batches each prepares ahead; 0: 2, PyTorch's own
	Cores     float64

	PinMemory   bool // batches lie in page-locked memory
	NonBlocking bool // and the launching thread does not wait for their copies
	SideStream  bool // copies run on their own stream, ahead of the work that needs them
	MergeCopies bool // the copies of a step that are all overhead go as one

	SyncEvery int // the loop blocks on the device only every so many steps; 0: as recorded; Never: not at all

	Graphs bool // launches are grouped as by CUDA graphs
	Fused  bool // chains of elementwise kernels become one kernel each
	Model  bool // both do so for the model alone: the optimizer's launches stay

	TF32 bool // matrix kernels run on Tensor Cores, data stays float32
	Half bool // fp16 or bf16: matrix kernels on Tensor Cores, half the bytes elsewhere

	Batch      float64 // times as many samples in a batch; 0: as recorded
	Accumulate int     // the optimizer and the exchange of gradients run every so many steps; 0: as recorded

	NoAllocator bool // no memory is allocated or freed within steps
	NoCollector bool // Python's garbage collector does not run within steps

	Twice bool // a device that computes twice as fast, and copies as ever

	GPU *hardware.GPU // another device; nil is the recorded one
}

// Never is the SyncEvery of a loop that never waits.
const Never = 1 << 30

// changesAny reports whether the edit changes something.
func (e Edit) changesAny() bool { return e != Edit{Cores: e.Cores, Prefetch: e.Prefetch} }

// removes reports whether an edit only takes time away.
func (e Edit) removes() bool { return e.Workers == 0 && e.Times == 0 && e.Batch == 0 && e.GPU == nil }
