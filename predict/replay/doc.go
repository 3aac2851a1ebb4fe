// Package replay plays a profiler's recording again with an edit, and says how
// long a step would take: the worth of a change is simulated, never subtracted.
//
// A recording becomes a graph once (New): per launching thread its calls in order
// with the time to think between them, per stream a queue of work, and between
// them what blocks on what. Playing it (Forecast) is one pass over the graph in
// the order in which things happened:
//
//	call   starts when its thread has thought, or when the thread that it waited
//	       for is done (the backward pass runs in its own thread)
//	wait   ends when the work that it waited for has ended
//	work   starts when its call has, its stream is free, and the work of another
//	       stream or another rank that it blocks on has ended
//
//	thread   ─think─[launch]─think─[launch]─[sync ........]─think─
//	                   │              │           ▲
//	stream             └─►[kernel]────└─►[kernel]─┘
//
// All that was recorded and is not explained by this (a launch that took longer
// than the fastest one, a pause between two kernels) stays as it was. So a replay
// without an edit comes out as recorded, up to what the graph contradicts: Check
// says how far off it is, and is no measure of how good a forecast is.
//
// It does not find what to edit (diagnose), nor rank it (advise), nor does it know
// anything of the machine that the trace does not tell or the caller does not
// give.
package replay
