// Package idle says what each idle nanosecond of a device went into, from the
// Timeline of a Run: which work ran, where the gaps lie, and what the host did
// meanwhile.
//
// It judges nothing: a cause is what a host thread or the device did during a
// gap, not what ought to be changed. diagnose makes a verdict and findings of
// it; report and export draw the slices.
//
// All arithmetic is in integer nanoseconds, so that the causes of a window add
// up to its idle time exactly. The time is linear in the number of events, and
// it keeps a few indices per event of the Timeline.
//
// A gap [a,b) ends with the start of the work n, which the call L launched:
//
//	device  …prev ████|a                                    b|████ n …
//	host              …wait, load, compute…|L.start  L.end|
//	charged           └─ what the thread did ─┴── launch ──┴─ on its way ─┘
//
// Where L had returned before a, the work was queued already and the device is
// to blame: latency up to 10 us, a wait for another stream or rank beyond.
package idle
