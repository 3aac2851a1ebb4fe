// Package stack says on which lines of Python the time of a loader and of a training
// loop goes, by looking at the stacks of their threads from outside.
//
// Watch samples the threads that it is given, some dozens of times a second, and
// adds up where those were that were preparing a batch at that moment: in
// PyTorch's fetch, in any process. A worker that is waiting to be given
// something to do is not counted. Of a trainer's own thread that prepares no batch it
// keeps the program's innermost line and what that calls, so that it is known which of
// the two it does also without the hook in the program. Stacks are read with process_vm_readv: the
// program is not stopped, runs no code of Stoker's, gets no signal and takes no
// lock of Stoker's, so its results cannot change. CPython 3.13 to 3.15 carry a table
// of where to look (_Py_DebugOffsets); for 3.10 to 3.12 the table is ours, from
// their headers.
//
// Memory may change while it is read. So every sample is bounded in frames and
// bytes, nothing is believed that does not fit together (a code object has to be
// one, an instruction has to lie in it), and what does not is looked at again, a few
// times. It does not see native code: what a decoder in C does is put down to the
// line of Python that called it. What that line calls is told by its text in the
// program's file (calls.go), if it is a name of a short list. It writes no sample of the user's data:
// names of files and functions and numbers of lines alone.
//
// observe tells it which threads load (observe/cpu knows); diagnose names the slow
// line.
package stack
