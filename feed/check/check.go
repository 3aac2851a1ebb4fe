// Package check reads a data set once, as a training would, and reports how fast this machine
// makes samples of it and which files are bad. It uses package feed without ring and socket, as
// there is no trainer.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/transform"
	"github.com/stoker-dev/stoker/internal/coretime"
)

// Options are the settings of a check.
type Options struct {
	Size       int // side of the square that each image is resized to
	Pool       feed.PoolOptions
	Quarantine string
	Progress   func(done, total int64) // samples; total is 0 while files are listed
}

// Report is the result of a check.
type Report struct {
	Root        string  `json:"root"`
	Samples     int     `json:"samples"`
	Classes     int     `json:"classes"`
	Size        int     `json:"size"`
	Threads     int     `json:"threads"`
	ListSeconds float64 `json:"list_seconds"`
	Seconds     float64 `json:"seconds"` // time for reading and decoding
	// of the process meanwhile; omitted if the system does not provide it
	CPUSeconds float64     `json:"cpu_seconds,omitzero"`
	Stages     feed.Stages `json:"stages_seconds"` // summed over the threads
	// files by format; files without a readable header are not counted
	Formats map[string]int `json:"formats"`
	Bad     []feed.Bad     `json:"bad,omitempty"`
	Inexact []feed.Inexact `json:"inexact,omitempty"` // may differ from Pillow's bytes
	Notes   []string       `json:"notes,omitempty"`
}

// ImagesPerSecond returns the rate at which the samples were made.
func (r Report) ImagesPerSecond() float64 { return float64(r.Samples) / r.Seconds }

// CPUPerImage returns the processor time per image, in seconds.
func (r Report) CPUPerImage() float64 { return r.CPUSeconds / float64(r.Samples) }

const (
	batch = 64
	// ahead keeps all threads busy while one slow image holds up its batch.
	ahead = 4
)

// Folder reads every sample of a folder once.
func Folder(ctx context.Context, root string, o Options) (Report, error) {
	r := Report{Root: root, Size: o.Size, Formats: map[string]int{}}
	pool, err := feed.NewPool(o.Pool)
	if err != nil {
		return r, err
	}
	defer pool.Close()
	r.Threads = pool.Threads()
	started := time.Now()
	loader, err := feed.Open(ctx, specOf(root, o.Size), feed.Options{
		Pool: pool, Quarantine: o.Quarantine, ListsUnread: true,
		Progress: func(files int) { o.Progress(int64(files), 0) },
	})
	if err != nil {
		return r, err
	}
	r.ListSeconds = time.Since(started).Seconds()
	r.Samples, r.Classes, r.Notes = loader.Samples(), len(loader.Classes()), loader.Notes()
	begun, cpu := time.Now(), coretime.Used()
	err = r.read(ctx, loader, o.Progress)
	r.Seconds, r.CPUSeconds = time.Since(begun).Seconds(), (coretime.Used() - cpu).Seconds()
	slices.SortFunc(r.Bad, func(a, b feed.Bad) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortFunc(r.Inexact, func(a, b feed.Inexact) int { return cmp.Compare(a.Index, b.Index) })
	return r, errors.Join(err, loader.Close())
}

// specOf returns a spec that does what most trainings do, without random choices: it decodes
// every byte that a crop could need.
func specOf(root string, size int) feed.Spec {
	return feed.Spec{
		Name: "check", Root: root, Batch: batch, World: 1, Tail: "short", OnError: feed.Mask, MaxBad: 1, Depth: ahead,
		Ops:    []transform.Op{{Name: "resize", Size: []int{size, size}}, {Name: "pil_to_tensor"}},
		Output: transform.Output{DType: "uint8", Layout: "nchw"},
	}
}

// read makes all batches, at most ahead of them at a time.
func (r *Report) read(ctx context.Context, loader *feed.Loader, progress func(done, total int64)) error {
	pass, err := loader.BeginPass(0, 0, 0, 0)
	if err != nil {
		return err
	}
	type filled struct {
		feed.Filled
		slot []byte
	}
	results := make(chan filled, ahead)
	jobs := map[int]*feed.Job{}
	defer func() {
		for _, job := range jobs {
			job.Cancel()
		}
	}()
	fill := func(step int, slot []byte) (err error) {
		jobs[step], err = pass.Fill(step, slot, time.Now(), func(f feed.Filled) { results <- filled{f, slot} })
		return err
	}
	next := 0
	for ; next < min(ahead, pass.Steps()); next++ {
		if err := fill(next, make([]byte, loader.SlotLayout().SlotBytes)); err != nil {
			return err
		}
	}
	for done := int64(0); len(jobs) > 0; {
		var f filled
		select {
		case f = <-results:
		case <-ctx.Done():
			return ctx.Err()
		}
		delete(jobs, f.Step)
		if f.Err != nil {
			return fmt.Errorf("check %s: %w", r.Root, f.Err)
		}
		r.addBatch(f.Filled)
		done += int64(f.Count)
		progress(done, int64(r.Samples))
		if next < pass.Steps() {
			if err := fill(next, f.slot); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

func (r *Report) addBatch(f feed.Filled) {
	r.Bad = append(r.Bad, f.Bad...)
	r.Inexact = append(r.Inexact, f.Inexact...)
	for format, files := range f.Formats {
		r.Formats[format] += files
	}
	r.Stages.Read += f.Stages.Read
	r.Stages.Decode += f.Stages.Decode
	r.Stages.Transform += f.Stages.Transform
}
