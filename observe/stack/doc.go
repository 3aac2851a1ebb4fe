// Package stack says on which lines of Python the time of a loader and of a training loop goes,
// by reading the stacks of their threads from outside.
//
// Watch samples the threads that it is given, some dozens of times a second. It adds up where
// those were that were preparing a batch: in PyTorch's fetch, in any process. A worker that
// waits for work is not counted. Of a trainer's own thread that prepares no batch, it keeps the
// program's innermost line and what that line calls. So loading and training can be told apart
// even without the hook. Stacks are read with process_vm_readv: the program is not stopped, runs
// none of Stoker's code, gets no signal and takes none of Stoker's locks, so its results cannot
// change. CPython 3.13 to 3.15 have a table of offsets (_Py_DebugOffsets). For 3.10 to 3.12 the
// table is ours, from their headers.
//
// Memory may change while it is read. So every sample is limited in frames and bytes, and
// everything is checked: a code object has to be one, an instruction has to be inside it. A
// sample that does not fit is read again, a few times. Native code is not seen: the time of a
// decoder in C counts for the line of Python that called it. The text of that line in the
// program's file says what it calls (calls.go), if the name is in a short list. No sample of the
// user's data is written, only names of files and functions, and line numbers.
//
// observe tells it which threads load (observe/cpu knows); diagnose names the slow line.
package stack
