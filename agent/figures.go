//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stoker-dev/stoker/diagnose"
)

// figure holds what a `stoker observe` last reported about the GPU of its judged rank.
type figure struct {
	gpu   string // its UUID
	uid   uint32 // owner of the file
	at    time.Time
	class string
	stall float64
	step  float64 // seconds
	rate  float64 // samples per second

	requests, p99, none float64 // of a server: requests a second, seconds, share of the time without one
}

const (
	// age from which the run of the figures has ended or hangs; long runs write rarely
	stale       = 5 * time.Minute
	mostFigures = 256     // files
	mostText    = 1 << 18 // size limit of a file: ours have about 5 kB
)

// figuresIn reads the files of a folder. Any user may have written them: their number and size
// are bounded, opening does not block, and words that are not ours are dropped.
func figuresIn(folder string) (found []figure, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	names, err := fs.Glob(root.FS(), "*.prom")
	if len(names) > mostFigures {
		err = fmt.Errorf("%s has %d files, and %d are read", folder, len(names), mostFigures)
	}
	for _, name := range names[:min(len(names), mostFigures)] {
		f, wrong := figureIn(root, name)
		if wrong != nil && !errors.Is(wrong, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
		} else if f.gpu != "" {
			found = append(found, f)
		}
	}
	return found, err
}

// figureIn reads one file. It returns a figure without a GPU if the file names none.
func figureIn(root *os.Root, name string) (f figure, err error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	if !is || !info.Mode().IsRegular() || info.Size() > mostText {
		return f, errors.New("no file of figures")
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	told, err := parser.TextToMetricFamilies(io.LimitReader(file, mostText))
	if err != nil {
		return f, err
	}
	end, f := told["stoker_run_end_timestamp_seconds"], figure{uid: owner.Uid}
	f.stall, f.step, f.rate = gauge(told["stoker_stall_ratio"]), gauge(told["stoker_step_seconds"]), gauge(
		told["stoker_samples_per_second"])
	f.requests, f.none = gauge(told["stoker_requests_per_second"]), gauge(told["stoker_no_requests_ratio"])
	f.p99 = gauge(told["stoker_request_p99_seconds"])
	if at := gauge(end); at > 0 && at < math.MaxInt32 {
		f.at = time.UnixMilli(int64(1000 * at))
	}
	f.gpu = labelOf(end, "UUID")
	if class := labelOf(told["stoker_verdict_info"], "class"); slices.ContainsFunc(diagnose.Classes,
		func(w diagnose.Word) bool { return w.Name == class }) {
		f.class = class
	}
	return f, nil
}

// gauge returns the first finite, non-negative value of a family; NaN if none exists.
func gauge(f *dto.MetricFamily) float64 {
	for _, m := range f.GetMetric() {
		if v := m.GetGauge(); v != nil && v.GetValue() >= 0 && !math.IsInf(v.GetValue(), 0) {
			return v.GetValue()
		}
	}
	return math.NaN()
}

// labelOf returns a label of the first metric of a family; "" if none exists.
func labelOf(f *dto.MetricFamily, name string) string {
	if len(f.GetMetric()) == 0 {
		return ""
	}
	for _, l := range f.GetMetric()[0].GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
