package observe

import (
	"fmt"
	"time"

	"github.com/stoker-dev/stoker/observe/gpu"
)

// GPUWatch polls the GPU probe in a separate goroutine, because a driver that
// hangs makes the probe hang. Nothing else blocks on it.
type GPUWatch struct {
	// News holds its readings, at most a few seconds' worth; readings that find it full are dropped.
	News <-chan GPUNews
	news chan GPUNews
	quit chan struct{}
	done chan struct{}
}

// OpenGPUs opens the probe of package gpu.
func OpenGPUs(o gpu.Options) (GPU, error) {
	probe, err := gpu.Open(o)
	if err != nil {
		return nil, err // not a nil *gpu.Probe in an interface
	}
	return probe, nil
}

// GPUNews is one look at all GPUs, or the reason why none was possible.
type GPUNews struct {
	At       time.Time // of the readings
	Facts    gpu.Facts
	Readings []gpu.Reading
	Absent   []string
	Err      error
}

const (
	gpuPatience = 2 * time.Second // that the end of a run has with a driver
	// until a driver that was not there is looked for again, then twice as long each time
	gpuAgain  = 10 * time.Second
	gpuSeldom = 10 * time.Minute // at the longest
)

// WatchGPUs reads once a second, from now on until Close.
func WatchGPUs(open func() (GPU, error)) *GPUWatch {
	news := make(chan GPUNews, 8)
	w := &GPUWatch{News: news, news: news, quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(open)
	return w
}

func (w *GPUWatch) run(open func() (GPU, error)) {
	defer close(w.done)
	defer func() {
		if fault := recover(); fault != nil {
			w.tell(GPUNews{Err: fmt.Errorf("a fault of stoker's own: %v", fault)})
		}
	}()
	probe := w.open(open)
	if probe == nil {
		return
	}
	defer func() { _ = probe.Close() }() // an error changes nothing
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		w.tell(look(probe))
		select {
		case <-w.quit:
			w.tell(look(probe))
			return
		case <-beat.C:
		}
	}
}

func look(probe GPU) GPUNews {
	now := time.Now()
	return GPUNews{At: now, Facts: probe.Facts(), Readings: probe.Read(now), Absent: probe.Absent()}
}

// open tries until there is a driver, or nil at the end: one may be loaded, or a
// device added, while the program runs.
func (w *GPUWatch) open(open func() (GPU, error)) GPU {
	for wait := gpuAgain; ; wait = min(2*wait, gpuSeldom) {
		probe, err := open()
		if err == nil {
			return probe
		}
		w.tell(GPUNews{Err: err})
		select {
		case <-w.quit:
			return nil
		case <-time.After(wait):
		}
	}
}

func (w *GPUWatch) tell(news GPUNews) {
	select {
	case w.news <- news:
	default:
	}
}

// Close takes a last reading and gives the driver some time to answer.
func (w *GPUWatch) Close() {
	close(w.quit)
	select {
	case <-w.done:
	case <-time.After(gpuPatience):
	}
}
