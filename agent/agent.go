//go:build linux

package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/predict"
)

// Options configure an Agent.
type Options struct {
	// OpenGPU opens the probe for GPUs. It may take long, and may hang.
	OpenGPU func() (observe.GPU, error)
	// Proc is the folder of the processes that the driver lists; "" if they cannot be seen
	// (HostProc). GPUs then have no jobs.
	Proc string
	// Figures is a folder of files written by `stoker observe --prometheus`; "" for none.
	Figures string
	// Price is the price of a GPU in dollars per hour; 0 means its list price.
	Price float64
	// Most is the greatest number of series in a scrape. GPUs that do not fit are left out
	// completely.
	Most int
	// Version is the version of this Stoker.
	Version string
	// Warn reports each problem once.
	Warn func(text string)
}

// Agent holds the state of a node's GPUs. Run keeps it up to date; Handler serves it.
type Agent struct {
	o Options

	owners map[uint32]owner // by process number, as of the last reading; used only by the reading goroutine

	mutex   sync.Mutex // guards the fields below
	devices []*device  // in order of index
	figures []figure
	looked  time.Time // time of the driver's last answer
	failing bool      // the driver has since reported an error
	warned  map[string]bool
}

// New makes an agent that has not read anything yet.
func New(o Options) *Agent {
	return &Agent{o: o, owners: map[uint32]owner{}, warned: map[string]bool{}}
}

// figuresEach is the interval at which figures are read; observe writes them every 15 s.
const figuresEach = 10 * time.Second

// Run watches until ctx ends. If the driver or the folder of figures hangs, the values known so
// far become old, and a scrape shows that.
func (a *Agent) Run(ctx context.Context) {
	watch := observe.WatchGPUs(a.o.OpenGPU)
	defer watch.Close()
	if a.o.Figures != "" {
		go a.readFigures(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case news := <-watch.News:
			a.take(news)
		}
	}
}

// readFigures reads the folder repeatedly. It runs in a separate goroutine, because a file
// system that does not answer may block it for ever.
func (a *Agent) readFigures(ctx context.Context) {
	for {
		found, err := figuresIn(a.o.Figures)
		a.mutex.Lock()
		a.figures = found
		if err != nil {
			a.warn(fmt.Sprintf("read figures of jobs: %v", err))
		}
		a.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(figuresEach):
		}
	}
}

// take stores a reading of the GPUs.
func (a *Agent) take(news observe.GPUNews) {
	a.owners = a.owning(news.Readings) // before the lock, so that no scrape blocks on /proc
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if news.Err != nil {
		a.failing = true
		a.warn(news.Err.Error())
		return
	}
	a.failing, a.looked = false, news.At
	for _, text := range news.Absent {
		a.warn("not told by the driver: " + text)
	}
	for _, facts := range news.Facts.Devices {
		a.noteDevice(facts)
	}
	if left := len(a.devices) - a.fittingGPUs(); left > 0 {
		a.warn(fmt.Sprintf("of %d GPUs %d are left out: a scrape may have %d series (--most-series)", len(a.devices),
			left, a.o.Most))
	}
	for _, reading := range news.Readings {
		for _, d := range a.devices {
			if d.facts.Index == reading.Index {
				a.look(d, reading, news.At)
			}
		}
	}
}

// owning finds the owners of all processes on GPUs.
func (a *Agent) owning(readings []gpu.Reading) map[uint32]owner {
	here := map[uint32]owner{}
	if a.o.Proc == "" {
		return here
	}
	for _, reading := range readings {
		for _, pid := range reading.Processes {
			if _, known := here[pid]; known {
				continue
			}
			if o, alive := owning(a.o.Proc, pid, a.owners[pid]); alive {
				here[pid] = o
			}
		}
	}
	return here
}

// noteDevice adds or updates a GPU. A different GPU at a known index (a board was replaced, or
// the driver numbers them differently) starts with no history.
func (a *Agent) noteDevice(facts gpu.Device) {
	for i, d := range a.devices {
		if d.facts.Index == facts.Index {
			if d.facts.UUID != facts.UUID {
				a.devices[i] = a.newDevice(facts)
			}
			d.facts = facts
			return
		}
	}
	a.devices = append(a.devices, a.newDevice(facts))
	slices.SortFunc(a.devices, func(a, b *device) int { return cmp.Compare(a.facts.Index, b.facts.Index) })
}

// newDevice returns a GPU with no history and its price.
func (a *Agent) newDevice(facts gpu.Device) *device {
	price := a.o.Price
	if !(price > 0) {
		row, _ := hardware.FindGPU(facts.Name)
		price = predict.PricesOf(row).GPUHour
	}
	return &device{facts: facts, price: price}
}

// look stores a reading of one GPU and the owners of its processes.
func (a *Agent) look(d *device, reading gpu.Reading, at time.Time) {
	var owners []owner
	for _, pid := range reading.Processes {
		if o, alive := a.owners[pid]; alive {
			owners = append(owners, o)
		}
	}
	d.noteLook(reading, owners, findLargest(reading.Held, a.owners), at)
	d.takeState(a.seenState(d, at), at)
}

// seenState returns the state of a GPU: from the verdict on its job, if there is one, or else
// as seen from outside.
func (a *Agent) seenState(d *device, at time.Time) string {
	f, found := a.jobVerdict(d, at)
	switch {
	case !found || math.IsNaN(f.stall):
		return d.stateFromOutside()
	case f.stall > diagnose.FedStall:
		return starved
	}
	return fed
}

// jobVerdict returns the newest figures of a `stoker observe` about the job on a GPU. The
// figures must not be stale and must be newer than the present processes on the GPU, and their
// file must belong to root, to our user, or to a user with a process on the GPU.
func (a *Agent) jobVerdict(d *device, at time.Time) (newest figure, found bool) {
	for _, f := range a.figures {
		theirs := f.uid == 0 || f.uid == uint32(os.Getuid()) ||
			slices.ContainsFunc(d.owners, func(o owner) bool { return o.uid == f.uid })
		if f.gpu == d.facts.UUID && theirs && at.Sub(f.at).Abs() <= stale && f.at.After(d.changed) &&
			(!found || f.at.After(newest.at)) {
			newest, found = f, true
		}
	}
	return newest, found
}

// warn reports a problem once.
func (a *Agent) warn(text string) {
	if !a.warned[text] && len(a.warned) < 100 {
		a.warned[text] = true
		a.o.Warn(text)
	}
}
