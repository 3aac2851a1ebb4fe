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
	SyncAt     string   `json:"sync_at,omitempty"` // the program's line, file:line, that waited longest for the device
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
