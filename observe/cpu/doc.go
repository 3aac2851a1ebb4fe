// Package cpu is the probe for the processes of a job and the machine around
// them: which process trains, which ones load, what their threads were doing,
// and how many cores and how much memory all of them may really use.
//
// It looks from outside and changes nothing; it neither judges nor keeps the things it
// saw: values go to a Sink as they are read. It does not look into a process
// (that is python/hook) nor at a GPU (observe/gpu), but takes in what they
// found, because it decides from that which process is a trainer.
//
// A Job has two beats. Tick, ten times a second in the mean, reads the state of the few
// threads that matter from files that stay open. Second, once a second, walks
// the tree and reads everything else. Neither starts a goroutine, and a Job is
// used by one goroutine at a time.
package cpu
