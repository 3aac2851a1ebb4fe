package recording

import "github.com/stoker-dev/stoker/internal/stat"

// HostClock is the Clock of an Inside where no device is in use.
const HostClock = "host"

// Inside is what was inside of one step, of some steps. Seconds; the parts are times of
// their own that do not overlap, and what is in none of them is Rest. Nil is unknown.
type Inside struct {
	Clock     string  `json:"clock"`               // "cuda", "emulated": the device's own; HostClock
	Span      float64 `json:"span"`                // from this step's beginning to the next one's
	Input     float64 `json:"input,omitempty"`     // waiting for the next batch
	Copy      float64 `json:"copy,omitempty"`      // copying to the device
	Forward   float64 `json:"forward,omitempty"`   // of the outermost module
	Backward  float64 `json:"backward,omitempty"`  // collectives that PyTorch starts within included
	Optimizer float64 `json:"optimizer,omitempty"` // its step
	Exchange  float64 `json:"exchange,omitempty"`  // collectives that the program calls by itself

	// What the launching thread asked of the device.
	Launches   *float64 `json:"launches,omitempty"`    // pieces of work; only the emulated device tells
	LaunchTime *float64 `json:"launch_time,omitempty"` // in these calls
	Copies     *float64 `json:"copies,omitempty"`      // to the device
	CopyBytes  *float64 `json:"copy_bytes,omitempty"`
	Pageable   *float64 `json:"pageable,omitempty"` // of CopyBytes, from pageable memory
	Syncs      *float64 `json:"syncs,omitempty"`    // calls that wait for the device
	SyncTime   *float64 `json:"sync_time,omitempty"`
}

// Rest is the part of a step of which nothing is known.
func (i Inside) Rest() float64 {
	return max(0, i.Span-i.Input-i.Copy-i.Forward-i.Backward-i.Optimizer-i.Exchange)
}

// Sound reports whether an Inside can have been measured.
func (i Inside) Sound() bool {
	for _, v := range []float64{i.Input, i.Copy, i.Forward, i.Backward, i.Optimizer, i.Exchange} {
		if !(v >= 0 && v <= i.Span) {
			return false
		}
	}
	for _, v := range []*float64{i.Launches, i.LaunchTime, i.Copies, i.CopyBytes, i.Pageable, i.Syncs, i.SyncTime} {
		if !(stat.Or(stat.Value(v), 0) >= 0) {
			return false
		}
	}
	return i.Span > 0 && i.Span < mostNumber
}

// Part is a part of a step, over the judged steps that were looked into; seconds.
type Part struct {
	Name      string
	Mean, P95 float64
}

// Parts are the parts of a judged step, in the order in which they come, and on whose
// clock; none where no step was looked into. Their means add up to the mean step.
func (w Window) Parts() (parts []Part, clock string) {
	insides := w.Insides()
	if len(insides) == 0 {
		return nil, ""
	}
	for _, part := range []struct {
		name string
		of   func(Inside) float64
	}{
		{"input wait", func(i Inside) float64 { return i.Input }},
		{"copy in", func(i Inside) float64 { return i.Copy }},
		{"forward", func(i Inside) float64 { return i.Forward }},
		{"backward", func(i Inside) float64 { return i.Backward }},
		{"optimizer", func(i Inside) float64 { return i.Optimizer }},
		{"exchange", func(i Inside) float64 { return i.Exchange }},
		{"rest", Inside.Rest},
	} {
		var seconds []float64
		for _, i := range insides {
			seconds = append(seconds, part.of(i))
		}
		parts = append(parts, Part{part.name, stat.Mean(seconds), stat.Quantile(seconds, 0.95)})
	}
	return parts, insides[0].Clock
}

// Insides are what was inside of the judged steps that were looked into, all on the
// clock of the last one.
func (w Window) Insides() []Inside {
	var found []Inside
	for i := len(w.Steps) - 1; i >= 0; i-- {
		if inside := w.Steps[i].Inside; inside != nil && (len(found) == 0 || inside.Clock == found[0].Clock) {
			found = append(found, *inside)
		}
	}
	return found
}

// Asks are the means per judged step of what the launching thread asked of the device;
// NaN is unknown.
func (w Window) Asks() Asks {
	insides := w.Insides()
	mean := func(of func(Inside) *float64) float64 {
		sum := 0.0
		for _, i := range insides {
			sum += stat.Value(of(i))
		}
		return sum / float64(len(insides))
	}
	return Asks{
		Launches:   mean(func(i Inside) *float64 { return i.Launches }),
		LaunchTime: mean(func(i Inside) *float64 { return i.LaunchTime }),
		Copies:     mean(func(i Inside) *float64 { return i.Copies }),
		CopyBytes:  mean(func(i Inside) *float64 { return i.CopyBytes }),
		Pageable:   mean(func(i Inside) *float64 { return i.Pageable }),
		Syncs:      mean(func(i Inside) *float64 { return i.Syncs }),
		SyncTime:   mean(func(i Inside) *float64 { return i.SyncTime }),
	}
}

// Asks are counts per step, and the seconds in them.
type Asks struct {
	Launches, LaunchTime        float64
	Copies, CopyBytes, Pageable float64
	Syncs, SyncTime             float64
}
