package recording

import "github.com/stoker-dev/stoker/internal/stat"

// HostClock is the Clock of an Inside if no device is used.
const HostClock = "host"

// Inside is how the time of one step was spent; only some steps have one. Times are in seconds.
// The parts do not overlap; the remaining time is Rest. Nil is unknown.
type Inside struct {
	Clock     string  `json:"clock"`               // "cuda", "emulated": the device's own; HostClock
	Span      float64 `json:"span"`                // from this step's beginning to the next one's
	Input     float64 `json:"input,omitempty"`     // waiting for the next batch
	Copy      float64 `json:"copy,omitempty"`      // copying to the device
	Forward   float64 `json:"forward,omitempty"`   // in the outermost module
	Backward  float64 `json:"backward,omitempty"`  // including collectives that PyTorch starts during it
	Optimizer float64 `json:"optimizer,omitempty"` // in the optimizer's step
	Exchange  float64 `json:"exchange,omitempty"`  // collectives that the program calls itself

	// What the launching thread requested of the device.
	Launches   *float64 `json:"launches,omitempty"`    // pieces of work; known only for the emulated device
	LaunchTime *float64 `json:"launch_time,omitempty"` // time in these calls
	Copies     *float64 `json:"copies,omitempty"`      // to the device
	CopyBytes  *float64 `json:"copy_bytes,omitempty"`
	Pageable   *float64 `json:"pageable,omitempty"` // part of CopyBytes, from pageable memory
	Syncs      *float64 `json:"syncs,omitempty"`    // calls that wait for the device
	SyncTime   *float64 `json:"sync_time,omitempty"`
	// the program's line (file:line) that waited longest for the device
	SyncAt string `json:"sync_at,omitempty"`
}

// Rest returns the time of a step that belongs to none of the parts.
func (i Inside) Rest() float64 {
	return max(0, i.Span-i.Input-i.Copy-i.Forward-i.Backward-i.Optimizer-i.Exchange)
}

// Sound reports whether the values of an Inside are plausible.
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
