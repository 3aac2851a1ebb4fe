package stoker

// The words of the project: each has one meaning and one type. No function has such a name,
// because functions are named by verbs (vocabulary_test.go).
//
//	Stage       .                a part of a step: read, prepare, transfer, compute, sync
//	Resource    .                what can limit a stage
//	Setting     .                what a person can set
//	Change      .                a setting with the value it has and the one it should have
//	Interval    .                an estimate with its uncertainty
//	Quantity    diagnose         a number that a rule computes from a case
//	Run         recording        the measurements of one job, live or from a profiler's file
//	Series      recording        one signal of one subject over time
//	Signal      recording        the name of something that is sampled
//	Step        recording        one iteration of a loop over a loader
//	Phase       recording        what a step belongs to: warm-up, training, evaluation, checkpoint
//	Window      recording        the part of a run that is judged
//	Inside      recording        the composition of a step, on the device clock
//	Process     recording        a process of the job that affects the verdict
//	Thread      recording        a host thread of one process
//	Loader      recording        an object that returns batches
//	Timeline    recording        host calls and device work with their links, from a profiler
//	Work        recording        a unit of work on a device: kernel, copy, collective
//	Exchange    recording        the data of a collective
//	Stack       recording        the call stack of a thread that prepares a batch
//	Memory      recording        the events of a device allocator
//	Machine     hardware         the hardware that a forecast is for
//	GPU         hardware         what one model of GPU can do
//	Link        hardware         the way from host memory to the device
//	Storage     hardware         a class of storage
//	Network     hardware         a network between machines
//	Figure      hardware         a number with its source
//	Probe       observe/gpu      reads the state of devices while a program runs
//	Reading     observe/gpu      one reading of a device
//	Setup       predict          a job as the model sees it: stages with costs
//	Answer      predict          the prediction for a setup
//	Baseline    predict          a setup with the costs and the step of a run
//	Sizing      predict          what a setup needs to reach a utilisation
//	Limit       predict          the limiting part of the path
//	Demand      predict          the rate that the path needs to keep the device busy
//	Profile     predict          the cost of samples of a kind
//	Wall        predict          a limit outside the step: memory, network, money
//	Costs       predict/measure  the cost of a run's steps, part by part
//	FetchSplit  predict/measure  the parts of the time of a fetch
//	Curve       predict/device   the step time of a network over its batch size
//	CriticalTime predict/replay  the parts of the critical path of the judged steps
//	Class       diagnose         what limits a run, in one word
//	Verdict     diagnose         the answer for one run
//	Finding     diagnose         a further observation on a run that is not its class
//	Case        diagnose         a run prepared for rules
//	Shares      diagnose         the parts of the judged window: kernel, copy, communication, idle
//	Cause       diagnose/idle    the cause of a device's gap
//	Analysis    diagnose/idle    a timeline with its gaps and their causes
//	Lanes       diagnose/lanes   one step on the device and its launching thread
//	Plan        advise           changes, largest benefit first
//	Fix         advise           one piece of advice
//	Outcome     verify           the result of comparing runs before and after a change
//	Side        verify           one of the two runs that are compared
//	Difference  verify           faster, slower, none, or too short to tell
//	Promise     verify           the forecast compared with the measurement
//	Spec        feed             how samples are processed, and in which order
//	Pool        feed             the threads that all loaders of a node share
//	Pass        feed             one rank's way through an epoch
//	Filled      feed             a batch written to its slot
//	Ring        feed/ring        the sealed memory in which batches are handed over
//	Picture     feed/decode/planes the planes of an image
//	Program     feed/picture     the operations on a picture
//	Sheet       report           a table with its title and notes
//	Trial       tune             a fix that was tried
//	Attempt     tune             one run of the command
//	State       watch            the state of a run at some moment
