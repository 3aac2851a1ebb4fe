package feed

import (
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/picture"
	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/feed/transform"
)

// worker holds what a thread keeps from one sample to the next, so that a sample needs no
// allocation.
type worker struct {
	pool      *Pool
	decoder   *decode.Decoder
	transform *transform.Worker
	pictures  *picture.Worker // nil until the first picture of a script
	drawn     []byte          // memory for such a picture
	file      []byte
	borrowed  struct{ file, scratch int64 } // taken from the pool for the current sample

	picture *planes.Picture // of the current sample
	choice  transform.Choice
	made    made
}

// made is the result for a sample after an attempt to make it.
type made struct {
	stages  Stages
	format  string // "": not even the header could be read
	inexact string
}

// errand is one sample in one epoch.
type errand struct {
	epoch  uint64
	sample int
}

// slot is where a sample is written: a target in a batch.
type slot interface {
	enterSlot() (image []byte, ok bool) // false: the sample is no longer wanted
	nameSample(sample int)
	leaveSlot()
}

// newWorker returns a worker with fresh scratch memory.
func newWorker(p *Pool) *worker {
	w := &worker{pool: p}
	w.renewDecoder()
	return w
}

// renewDecoder replaces the scratch memory, because it has grown large or a panic has left it
// in an unknown state.
func (w *worker) renewDecoder() {
	// the limit of any machine; decode checks this one's
	w.decoder = decode.New(decode.Limits{Memory: maxPixels * perPixel})
	w.decoder.UseMarks(w.pool.marks)
	w.transform = transform.NewWorker()
	w.pictures, w.drawn = nil, nil
	w.file = nil
}

// makeSample reads, decodes and transforms a sample. A panic is Stoker's fault and not the
// sample's: the batch is not made, and the thread continues.
func (w *worker) makeSample(l *Loader, e errand, to slot) (done made, bad *trouble) {
	defer w.giveBack()
	defer func() {
		if fault := recover(); fault != nil {
			w.renewDecoder()
			l.statistics.faults.Add(1)
			done, bad = w.made, faultTrouble(l.pathOf(e.sample), fault)
		}
	}()
	w.made = made{}
	if err := l.prepare(w, e); err != nil {
		return w.made, newTrouble(l, e.sample, w.file, err)
	}
	image, wanted := to.enterSlot()
	if !wanted {
		return w.made, nil
	}
	defer to.leaveSlot()
	if err := l.paint(w, e, image); err != nil {
		return w.made, newTrouble(l, e.sample, w.file, err)
	}
	to.nameSample(e.sample)
	return w.made, nil
}

// readAndDecode reads a sample, and leaves its picture and its random choices in the worker.
func (l *Loader) readAndDecode(w *worker, e errand) error {
	start := time.Now()
	data, err := w.readSample(l.source, l.fileOf(e.sample), start)
	read := time.Now()
	w.made.stages.Read = read.Sub(start).Seconds()
	if err != nil {
		return err
	}
	err = w.decode(l, data, e)
	w.made.stages.Decode = time.Since(read).Seconds()
	return err
}

// readSample reads the file of a sample, and tries again during an outage.
func (w *worker) readSample(folder *source.Folder, i int, began time.Time) ([]byte, error) {
	data, err := w.readOnce(folder, i)
	if err != nil {
		data, err = w.readAgain(folder, i, began, err)
	}
	return data, err
}

// readOnce reads a file, and takes memory from the pool if the file is large.
func (w *worker) readOnce(folder *source.Folder, i int) ([]byte, error) {
	w.file = w.file[:0]
	file, err := folder.OpenFile(i)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if most := w.pool.maxFile(); file.Size > most {
		return nil, w.pool.lackMemory("it has %d bytes, and this daemon's memory has room for %d", file.Size, most)
	}
	w.borrowed.file = w.pool.files.takeBytes(file.Size - keptFile)
	w.file, err = file.Read(w.file)
	return w.file, err
}

// readAgain blocks until an outage ends. Meanwhile others may use the memory that an attempt
// took.
func (w *worker) readAgain(folder *source.Folder, i int, began time.Time, err error) (data []byte, _ error) {
	err = folder.Retry(i, began, err, func() (err error) {
		w.giveBack()
		data, err = w.readOnce(folder, i)
		return err
	})
	return data, err
}

// decode checks the limits, makes the random choices, and decodes the part of the picture that
// they need.
func (w *worker) decode(l *Loader, data []byte, e errand) error {
	provoke(data)
	info, err := w.decoder.ReadHeader(data)
	if err != nil {
		return err
	}
	if err := (decode.Limits{Pixels: l.spec.MaxPixels}).CheckPixels(info.Width, info.Height); err != nil {
		return err
	}
	if most := w.pool.budget.pixels; info.Width*info.Height > most {
		return w.pool.lackMemory("it has %d x %d pixels, and this daemon's memory has room for %d", info.Width,
			info.Height, most)
	}
	w.made.format = info.Format
	if info.Progressive {
		w.made.format = "progressive " + info.Format
	}
	w.borrowed.scratch = w.pool.scratch.takeBytes(scratchBytes(info.Width, info.Height) - keptScratch)
	w.choice, err = l.program.Choose(info.Width, info.Height, l.spec.Seed, e.epoch, uint64(e.sample))
	if err != nil {
		return unfitError{err}
	}
	w.picture, err = w.decoder.Decode(l.program.SourceArea(w.choice))
	w.made.inexact = w.decoder.ImageInfo().Inexact // part of it is known only after decoding
	return err
}

// transform writes the tensor of the worker's picture into image.
func (l *Loader) transform(w *worker, _ errand, image []byte) error {
	start := time.Now()
	defer func() { w.made.stages.Transform = time.Since(start).Seconds() }()
	if err := w.transform.Apply(l.program, w.choice, w.picture, image); err != nil {
		return unfitError{err}
	}
	return nil
}

// giveBack returns what the sample took beyond what every worker has. There is no deadlock: a
// thread that waits for scratch holds at most a file's memory, and a thread that holds both
// never waits.
func (w *worker) giveBack() {
	if w.borrowed.file == 0 && w.borrowed.scratch == 0 {
		return
	}
	w.renewDecoder()
	w.pool.files.giveBack(w.borrowed.file)
	w.pool.scratch.giveBack(w.borrowed.scratch)
	w.borrowed.file, w.borrowed.scratch = 0, 0
}
