package transform

import (
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Worker holds the scratch memory of one thread. It is not safe for concurrent use.
type Worker struct {
	simd bool

	program *Program // of the current Apply
	images  []*stageImage
	rows    planes.RowReader
	tensor  tensor

	across, down weights
	table        kernelTable // of across, for the vector kernel
	rowWeights   []rowWeight // of down, for one row

	window  rowWindow
	source  int        // bytes per plane of a row as it is read
	offset  int        // of the first wanted pixel in a row without a horizontal pass
	strip   []byte     // rows before the horizontal pass
	line    []byte     // a row after the vertical pass
	lines   []byte     // rows after the horizontal pass, if that is the last one
	waiting []int      // the rows of the result that are in strip
	packed  []fourRows // pixels of a strip before the horizontal pass, without vectors
	columns []column   // of across, without vectors
	reach   int        // number of pixels of a row that it reads
	turned  []byte
	triple  []byte
	canvas  []byte
}

// NewWorker returns a Worker for any Program.
func NewWorker() *Worker { return &Worker{simd: hasSIMD && planes.HasSIMD} }

// Program is a compiled list of Ops. It is safe for concurrent use.
type Program struct {
	steps  []step
	form   form
	pillow int
	cache  weightCache
}

// rowWindow holds consecutive rows between the passes.
type rowWindow struct {
	rows        []byte
	stride      int // of a plane within a row
	row         int // bytes of a row
	first, next int // it holds rows first to next-1
	end         int // of all rows
	capacity    int
}

// stageImage is an image between two stages.
type stageImage struct {
	picture planes.Picture
}
