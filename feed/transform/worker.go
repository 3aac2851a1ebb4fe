package transform

import (
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Worker holds the scratch memory of one thread; calls must not overlap.
type Worker struct {
	simd bool

	program *Program // of the present Apply
	images  []*stageImage
	rows    planes.RowReader
	tensor  tensor

	across, down weights
	table        kernelTable // of across, in the form of the vector kernel
	rowWeights   []rowWeight // of down, for one row

	window  rowWindow
	source  int        // bytes of a plane of a row as it is read
	offset  int        // of the first wanted pixel in a row that no horizontal pass takes
	strip   []byte     // rows before the horizontal pass
	line    []byte     // a row after the vertical pass
	lines   []byte     // rows after the horizontal pass, if that is the last
	waiting []int      // the rows of the result that lie in strip
	packed  []fourRows // pixels of a strip before the horizontal pass, without vectors
	columns []column   // of across, without vectors
	reach   int        // how many of a row it reads
	turned  []byte
	triple  []byte
	canvas  []byte
}

// NewWorker returns a Worker of any Program.
func NewWorker() *Worker { return &Worker{simd: hasSIMD && planes.HasSIMD} }
