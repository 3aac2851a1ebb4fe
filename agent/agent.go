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

// Options say what to watch.
type Options struct {
	// OpenGPU opens the probe for GPUs. It may take its time, and hang.
	OpenGPU func() (observe.GPU, error)
	// Proc is where the processes lie that the driver counts; "" where they cannot be
	// seen (HostProc). GPUs then have no jobs.
	Proc string
	// Figures is a folder of files that `stoker observe --prometheus` keeps; "" is none.
	Figures string
	// Price of a GPU, dollars per hour; 0 is the list price of each.
	Price float64
	// Most series that a scrape may have. GPUs beyond are left out whole.
	Most int
	// Version of this Stoker.
	Version string
	// Warn is told of each trouble once.
	Warn func(text string)
}

// Agent is what is known of a node. Run keeps it up to date, Handler tells it.
type Agent struct {
	o Options

	owners map[uint32]owner // of the last look, by process; of the goroutine that looks

	mutex   sync.Mutex // guards what follows
	devices []*device  // in order of their index
	figures []figure
	looked  time.Time // when the driver answered last
	failing bool      // it said since that there is nothing to see
	warned  map[string]bool
}

// New makes an agent that has not looked yet.
func New(o Options) *Agent {
	return &Agent{o: o, owners: map[uint32]owner{}, warned: map[string]bool{}}
}

// figuresEach is how often figures are read; observe writes them every 15 s.
const figuresEach = 10 * time.Second

// Run watches until ctx ends. A driver that hangs leaves what was known of it growing
// old, which a scrape sees; a folder that hangs leaves figures growing old, likewise.
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

// readFigures reads the folder again and again, in a goroutine that a dead file system
// may keep for ever.
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

// take notes what the GPUs did.
func (a *Agent) take(news observe.GPUNews) {
	a.owners = a.owning(news.Readings) // before the lock: no scrape waits for /proc
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
	if left := len(a.devices) - a.shown(); left > 0 {
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

// owning looks at all processes on GPUs.
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

// noteDevice notes a GPU. One that lies in the place of another (a board was changed, the
// driver counts anew) begins anew.
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

func (a *Agent) newDevice(facts gpu.Device) *device {
	price := a.o.Price
	if !(price > 0) {
		row, _ := hardware.FindGPU(facts.Name)
		price = predict.PricesOf(row).GPUHour
	}
	return &device{facts: facts, price: price}
}

// look notes what one GPU did, and who was on it.
func (a *Agent) look(d *device, reading gpu.Reading, at time.Time) {
	var owners []owner
	for _, pid := range reading.Processes {
		if o, alive := a.owners[pid]; alive {
			owners = append(owners, o)
		}
	}
	d.noteLook(reading, owners, at)
	d.takeState(a.seen(d, at), at)
}

// seen is the state of a GPU: by the verdict on its job where there is one.
func (a *Agent) seen(d *device, at time.Time) string {
	f, found := a.jobVerdict(d, at)
	switch {
	case !found || math.IsNaN(f.stall):
		return d.outside()
	case f.stall > diagnose.FedStall:
		return starved
	}
	return fed
}

// jobVerdict is what a `stoker observe` says of the job on a GPU: one that still speaks, has
// spoken since the processes there came, and whose file belongs to root, to us, or to who
// runs on that GPU.
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

// warn tells of a trouble once.
func (a *Agent) warn(text string) {
	if !a.warned[text] && len(a.warned) < 100 {
		a.warned[text] = true
		a.o.Warn(text)
	}
}
