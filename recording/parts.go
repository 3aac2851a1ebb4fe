package recording

import "github.com/stoker-dev/stoker/internal/stat"

// Part is a part of a step, over the judged steps that have an Inside; seconds.
type Part struct {
	Name string  `json:"part"`
	Mean float64 `json:"mean_s"`
	P95  float64 `json:"p95_s"`
}

// StepParts returns the parts of a judged step, in their order, and the clock that measured
// them; none if no step has an Inside. Their means add up to the mean step.
func (w Window) StepParts() (parts []Part, clock string) {
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

// Insides returns the Insides of the judged steps that have the same clock as the last one.
func (w Window) Insides() []Inside {
	var found []Inside
	for i := len(w.Steps) - 1; i >= 0; i-- {
		if inside := w.Steps[i].Inside; inside != nil && (len(found) == 0 || inside.Clock == found[0].Clock) {
			found = append(found, *inside)
		}
	}
	return found
}

// Copying returns the share of the judged steps in which the launching thread's stream copied
// to the device, by the device's own clock; NaN is unknown.
func (w Window) Copying() float64 {
	copied, span := 0.0, 0.0
	for _, i := range w.Insides() {
		if i.Clock != HostClock {
			copied, span = copied+i.Copy, span+i.Span
		}
	}
	return copied / span
}

// Asks returns the means per judged step of what the launching thread requested of the device;
// NaN is unknown.
func (w Window) Asks() DeviceAsks {
	insides := w.Insides()
	mean := func(of func(Inside) *float64) float64 {
		sum := 0.0
		for _, i := range insides {
			sum += stat.Value(of(i))
		}
		return sum / float64(len(insides))
	}
	return DeviceAsks{
		Launches:   mean(func(i Inside) *float64 { return i.Launches }),
		LaunchTime: mean(func(i Inside) *float64 { return i.LaunchTime }),
		Copies:     mean(func(i Inside) *float64 { return i.Copies }),
		CopyBytes:  mean(func(i Inside) *float64 { return i.CopyBytes }),
		Pageable:   mean(func(i Inside) *float64 { return i.Pageable }),
		Syncs:      mean(func(i Inside) *float64 { return i.Syncs }),
		SyncTime:   mean(func(i Inside) *float64 { return i.SyncTime }),
	}
}

// SyncsAt returns the program's line on which most steps with an Inside wait longest for the
// device; "" if none does, or if that was not recorded.
func (w Window) SyncsAt() (most string) {
	counts := map[string]int{}
	for _, i := range w.Insides() {
		if at := i.SyncAt; at != "" {
			if counts[at]++; counts[at] > counts[most] || counts[at] == counts[most] && at < most {
				most = at
			}
		}
	}
	return most
}

// DeviceAsks are counts per step, and the seconds spent in them.
type DeviceAsks struct {
	Launches, LaunchTime        float64
	Copies, CopyBytes, Pageable float64
	Syncs, SyncTime             float64
}
