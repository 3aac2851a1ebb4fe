package feed

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/picture"
)

// Drawing is a picture to be made from a file that the client has read.
type Drawing struct {
	Program *picture.Program
	Pixels  int                                 // of the file's picture
	Bytes   int                                 // of the file
	Read    func(memory []byte) ([]byte, error) // reads the file, into memory if that is large enough
	To      []byte                              // where the result goes; nil: Write takes it
	Write   func(made []byte) error
}

// Make queues pictures with the urgency of a batch that is wanted now. It calls done with the
// error of each and the processor time that they took together.
func (p *Pool) Make(drawings []Drawing, done func(errs []error, spent time.Duration)) *Job {
	errs := make([]error, len(drawings))
	var spent atomic.Int64
	job := &Job{pool: p, wanted: time.Now(), count: len(drawings)}
	job.file = func(int) string { return "a picture of a script's" }
	job.finish = func() { done(errs, time.Duration(spent.Load())) }
	job.fill = func(w *worker, k int) {
		begin := threadTime()
		errs[k] = w.drawPicture(job, &drawings[k])
		spent.Add(int64(threadTime() - begin))
	}
	p.submit(job)
	return job
}

// borrow takes a picture's memory from what all threads share: first the file's, then the
// scratch, in the order that giveBack relies on. A picture that can never fit is an outage, and
// the client makes it.
func (w *worker) borrow(d *Drawing) error {
	p := w.pool
	scratch := int64(d.Pixels)*perPixel + int64(d.Program.NeededMemory()) + int64(d.Program.Output.Bytes())
	if most := p.budget.scratch + keptScratch; scratch > most {
		return p.lackMemory("making it takes %d bytes, and this daemon's memory has room for %d", scratch, most)
	}
	if int64(d.Bytes) > p.maxFile() {
		return p.lackMemory("its file has %d bytes, and this daemon's memory has room for %d", d.Bytes, p.maxFile())
	}
	w.borrowed.file = p.files.takeBytes(int64(d.Bytes) - keptFile)
	w.borrowed.scratch = p.scratch.takeBytes(scratch - keptScratch)
	return nil
}

// drawPicture makes a picture. A panic becomes an error, and the client makes the picture.
func (w *worker) drawPicture(job *Job, d *Drawing) (err error) {
	defer w.giveBack()
	defer func() {
		if fault := recover(); fault != nil {
			w.renewDecoder()
			err = faultTrouble("a picture", fault)
		}
	}()
	if err := w.borrow(d); err != nil {
		return err
	}
	file, err := d.Read(w.file)
	if err != nil {
		return err
	}
	w.file = file[:0]
	provoke(file)
	if w.pictures == nil {
		w.pictures = picture.NewWorker(decode.Limits{Pixels: w.pool.budget.pixels})
		w.pictures.UseMarks(w.pool.marks)
	}
	if d.To != nil {
		if !job.enterSlot() {
			return nil
		}
		defer job.leaveSlot()
		return w.pictures.Run(d.Program, picture.Source{File: file}, d.To)
	}
	size := d.Program.Output.Bytes()
	w.drawn = slices.Grow(w.drawn[:0], size)[:size]
	if err := w.pictures.Run(d.Program, picture.Source{File: file}, w.drawn); err != nil {
		return err
	}
	return d.Write(w.drawn)
}
