package feed

import (
	"slices"
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/picture"
)

// Drawing is a picture to be made of a file that somebody else has read.
type Drawing struct {
	Program *picture.Program
	Pixels  int                                 // of the file's picture
	Read    func(memory []byte) ([]byte, error) // the file, into memory where that is large enough
	To      []byte                              // what the program makes; nil: Write takes it
	Write   func(made []byte) error
}

// Make makes pictures, as urgent as a batch that is wanted now, and calls done with
// what became of each.
func (p *Pool) Make(drawings []Drawing, done func(errs []error)) *Job {
	errs := make([]error, len(drawings))
	job := &Job{pool: p, wanted: time.Now(), count: len(drawings)}
	job.file = func(int) string { return "a picture of a script's" }
	job.finish = func() { done(errs) }
	job.fill = func(w *worker, k int) { errs[k] = w.draw(job, &drawings[k]) }
	p.submit(job)
	return job
}

// draw makes a picture. A panic is a fault of ours, and who asked makes it otherwise.
func (w *worker) draw(job *Job, d *Drawing) (err error) {
	defer w.giveBack()
	defer func() {
		if fault := recover(); fault != nil {
			w.renew()
			err = faultTrouble("a picture", fault)
		}
	}()
	w.borrowed.scratch = w.pool.scratch.take(int64(d.Pixels)*perPixel + int64(d.Program.Memory()) - keptScratch)
	file, err := d.Read(w.file)
	if err != nil {
		return err
	}
	w.file = file[:0]
	if w.pictures == nil {
		w.pictures = picture.NewWorker(decode.Limits{Pixels: w.pool.budget.pixels})
	}
	if d.To != nil {
		if !job.enter() {
			return nil
		}
		defer job.leave()
		return w.pictures.Run(d.Program, picture.Source{File: file}, d.To)
	}
	size := d.Program.Output.Bytes()
	w.drawn = slices.Grow(w.drawn[:0], size)[:size]
	if err := w.pictures.Run(d.Program, picture.Source{File: file}, w.drawn); err != nil {
		return err
	}
	return d.Write(w.drawn)
}
