package feed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-dev/stoker/feed/source"
	"github.com/stoker-dev/stoker/feed/transform"
)

// Options are what a loader needs besides its Spec. None of them changes a pixel.
type Options struct {
	Pool       *Pool           // whose threads do the work; shared by all loaders of the node
	Ranks      int             // of this node, whose rings count against the pool's memory; default Spec.World
	List       []byte          // paths and labels of the samples (source.Parse), if Spec.List is set
	Quarantine string          // file that bad samples are appended to; "": none
	Progress   func(files int) // called now and then while the folder is listed
	// ListsUnread makes pictures that Pillow may read and Stoker does not bad samples. Without it the
	// batch is not made.
	ListsUnread bool
}

// Loader is an opened Spec: the samples are listed and the transforms compiled. All ranks of a
// node share one. It is safe for concurrent use.
type Loader struct {
	spec     Spec
	pool     *Pool
	source   *source.Folder
	program  *transform.Program
	samples  int // of an epoch: Spec.Samples, or all of the source
	layout   Layout
	manifest string
	pipeline string
	notes    []string
	memory   int64 // taken from the pool's budget

	listsUnread bool // Options.ListsUnread

	bad        badSamples
	accounts   accounts
	orders     permutations
	quarantine *quarantine
	statistics Statistics
	reading    reading
	prepare    func(*worker, errand) error         // reads and decodes a sample; tests replace it
	paint      func(*worker, errand, []byte) error // writes its tensor; tests replace it
}

// Open checks the spec, lists the samples and compiles the transforms. Close the
// loader after use.
func Open(ctx context.Context, spec Spec, o Options) (*Loader, error) {
	spec = spec.withDefaults()
	if err := spec.checkSpec(); err != nil {
		return nil, err
	}
	l := &Loader{spec: spec, pool: o.Pool, listsUnread: o.ListsUnread}
	if err := l.prepareLoader(ctx, o); err != nil {
		_ = l.Close() // nothing was written yet
		return nil, err
	}
	return l, nil
}

func (l *Loader) prepareLoader(ctx context.Context, o Options) (err error) {
	if l.program, err = transform.Compile(l.spec.Ops, l.spec.Output); err != nil {
		return err
	}
	if l.layout, err = layoutOf(l.program, l.spec); err != nil {
		return err
	}
	ranks := o.Ranks
	if ranks == 0 {
		ranks = l.spec.World
	}
	if err := l.reserve(ranks); err != nil {
		return err
	}
	if l.source, err = l.listSamples(ctx, o); err != nil {
		return err
	}
	l.notes = append(l.notes, l.source.Notes()...)
	switch most := l.pool.budget.pixels; {
	case l.spec.MaxPixels > most:
		return fmt.Errorf(
			"max_pixels is %d: decoding so many takes %s, and of the memory of %s images have %s: give more memory, "+
				"fewer threads or a smaller max_pixels",
			l.spec.MaxPixels, mebibytes(scratchBytes(l.spec.MaxPixels, 1)), mebibytes(l.pool.budget.total),
			mebibytes(scratchBytes(most, 1)))
	case l.spec.MaxPixels == 0 && most < maxPixels:
		l.notes = append(l.notes,
			fmt.Sprintf(
				"images of more than %d pixels cannot be made here: the memory of %s has no room for larger ones",
				most, mebibytes(l.pool.budget.total)))
	}
	if err := l.countSamples(); err != nil {
		return err
	}
	l.manifest = manifestDigest(l.source, l.spec.Samples)
	l.pipeline = pipelineDigest(l.spec)
	l.prepare, l.paint = l.readAndDecode, l.transform
	l.reading.slow.Store(true) // assumed until the first batch is timed: a new data set is seldom in the page cache
	if o.Quarantine != "" {
		l.quarantine, err = openQuarantine(o.Quarantine)
	}
	return err
}

// listSamples takes the samples from the client's list, or else lists the folder.
func (l *Loader) listSamples(ctx context.Context, o Options) (*source.Folder, error) {
	options := source.Options{Extensions: l.spec.Extensions, AllowEmpty: l.spec.AllowEmpty, Progress: o.Progress}
	if l.spec.List == "" {
		return source.List(ctx, l.spec.Root, options)
	}
	if digest := sha256.Sum256(o.List); hex.EncodeToString(digest[:]) != l.spec.List {
		return nil,
			fmt.Errorf("the list of samples has %d bytes and the digest %x, expected %s: client and binary are of "+
				"different versions", len(o.List), digest, l.spec.List)
	}
	return source.Parse(l.spec.Root, o.List, options)
}

// reserve takes the rings' memory from the pool's budget.
func (l *Loader) reserve(ranks int) error {
	rings := int64(ranks) * int64(l.spec.Depth) * l.layout.SlotBytes
	if err := l.pool.budget.reserveMemory(rings,
		fmt.Sprintf("the rings of %d ranks x %d slots of %s (depth, batch and size of the images decide that)",
			ranks, l.spec.Depth, mebibytes(l.layout.SlotBytes))); err != nil {
		return err
	}
	l.memory = rings
	return nil
}

// countSamples checks the indices of the subset and sets the number of samples of an epoch.
func (l *Loader) countSamples() error {
	l.samples = l.source.Len()
	if l.spec.Samples != nil {
		l.samples = len(l.spec.Samples)
	}
	for at, i := range l.spec.Samples {
		if i < 0 || i >= l.source.Len() {
			return fmt.Errorf("samples[%d] is %d: %s has the samples 0 to %d", at, i, l.spec.Root, l.source.Len()-1)
		}
	}
	if l.samples == 0 {
		return fmt.Errorf("%s has no samples", l.spec.Root)
	}
	return nil
}

// Close releases what the loader holds. Its jobs must be done or cancelled before.
func (l *Loader) Close() error {
	l.pool.budget.releaseMemory(l.memory)
	l.memory = 0
	var folder, quarantine error
	if l.source != nil {
		folder = l.source.Close()
	}
	if l.quarantine != nil {
		quarantine = l.quarantine.closeFile()
	}
	return errors.Join(folder, quarantine)
}

// FullSpec returns the spec that the loader was opened with, with defaults filled in.
func (l *Loader) FullSpec() Spec { return l.spec }

// Samples returns the number of samples of an epoch.
func (l *Loader) Samples() int { return l.samples }

// Classes returns the names of the classes; a label is a position in this list.
func (l *Loader) Classes() []string { return l.source.Classes() }

// TensorShape returns height and width of every sample's tensor.
func (l *Loader) TensorShape() (height, width int) { return l.program.TensorShape() }

// SlotLayout returns where the fields of a batch lie in a slot.
func (l *Loader) SlotLayout() Layout { return l.layout }

// Manifest returns a digest of the samples and their order: 32 hexadecimal digits, the same on
// every machine. A client stores it with Pipeline in its state, and refuses to resume if either
// differs.
func (l *Loader) Manifest() string { return l.manifest }

// Pipeline returns a digest of the processing of samples; see Manifest.
func (l *Loader) Pipeline() string { return l.pipeline }

// Notes returns sentences that the user should read once.
func (l *Loader) Notes() []string { return l.notes }

// CurrentCounters returns the loader's counters.
func (l *Loader) CurrentCounters() Counters {
	s := &l.statistics
	return Counters{
		Batches: s.batches.Load(), Samples: s.samples.Load(), Failed: s.failed.Load(), Bad: s.bad.Load(),
		Inexact: s.inexact.Load(), Faults: s.faults.Load(),
		Read: time.Duration(s.read.Load()), Decode: time.Duration(s.decode.Load()),
		Transform: time.Duration(s.transform.Load()),
	}
}

// pathOf returns the path of a sample's file.
func (l *Loader) pathOf(sample int) string { return l.source.Path(l.fileOf(sample)) }

// labelOf returns the class of a sample.
func (l *Loader) labelOf(sample int) int { return l.source.Label(l.fileOf(sample)) }

// fileOf returns the index of a sample in the source's list.
func (l *Loader) fileOf(sample int) int {
	if l.spec.Samples == nil {
		return sample
	}
	return l.spec.Samples[sample]
}

// digestBytes is how much of a SHA-256 is kept: enough against accidents, not against
// attackers. A state has only 200 bytes.
const digestBytes = 16

// manifestDigest returns the digest of the folder's samples, or of a subset of them, as
// hexadecimal digits.
func manifestDigest(folder *source.Folder, subset []int) string {
	digest := folder.Digest()
	if subset != nil {
		text, _ := json.Marshal(subset) // integers cannot fail
		digest = sha256.Sum256(append(digest[:], text...))
	}
	return hex.EncodeToString(digest[:digestBytes])
}

// pipelineDigest returns a digest of what decides a sample's tensor and its place in the epoch.
// Batch, world and tail are left out: a resumed training may change them.
func pipelineDigest(s Spec) string {
	text, _ := json.Marshal(struct { // plain data cannot fail
		Format  int
		Ops     []transform.Op
		Output  transform.Output
		Shuffle bool
	}{1, s.Ops, s.Output, s.Shuffle})
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:digestBytes])
}
