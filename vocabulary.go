package stoker

// The words of the project: one meaning each, and the type that holds it. A function never has such a name, because a
// function does something (vocabulary_test.go).
//
//	Stage       .                what a step passes through: read, prepare, transfer, compute, sync
//	Resource    .                what a stage can be bound by
//	Setting     .                what a person can set
//	Change      .                a setting with the value it has and the one it should have
//	Interval    .                an estimate with its doubt
//	Quantity    diagnose         something that a rule asks of a case
//	Run         recording        what was measured of one job, live or from a profiler's file
//	Series      recording        one signal of one subject over time
//	Signal      recording        the name of something that is sampled
//	Step        recording        one iteration of a loop over a loader
//	Phase       recording        what a step belongs to: warm-up, training, evaluation, checkpoint
//	Window      recording        the part of a run that is judged
//	Inside      recording        what a step was made of, on the device's clock
//	Process     recording        a process of the job that matters to a verdict
//	Thread      recording        a host thread of one process
//	Loader      recording        what hands out batches
//	Timeline    recording        host calls and device work with their links, from a profiler
//	Work        recording        what ran on a device: kernels, copies, collectives
//	Exchange    recording        what a collective carries
//	Stack       recording        where a thread was while it prepared a batch
//	Memory      recording        what an allocator of devices did
//	Machine     hardware         the hardware that a forecast is for
//	GPU         hardware         what one model of GPU can do
//	Link        hardware         the way from host memory to the device
//	Storage     hardware         a class of storage
//	Network     hardware         what joins machines
//	Figure      hardware         a number with its source
//	Probe       observe/gpu      what looks at devices while a program runs
//	Reading     observe/gpu      what one look at a device found
//	Setup       predict          a job as the law sees it: stages with costs
//	Answer      predict          what the law says of a setup
//	Baseline    predict          a setup with the costs and the step of a run
//	Sizing      predict          what a setup needs to reach a utilisation
//	Limit       predict          the part of the path that binds
//	Demand      predict          what the device asks of the path to compute all the time
//	Profile     predict          what samples of a kind cost
//	Wall        predict          a limit outside the step: memory, network, money
//	Costs       predict/measure  what a run's steps cost, part by part
//	FetchSplit  predict/measure  where the time of a fetch goes
//	Curve       predict/device   the step time of a network over its batch size
//	CriticalTime predict/replay  what the critical path of the judged steps was spent on
//	Class       diagnose         what limits a run, in one word
//	Verdict     diagnose         the answer for one run
//	Finding     diagnose         something that stands beside a class
//	Case        diagnose         a run as rules see it
//	Shares      diagnose         the parts of the judged window: kernel, copy, communication, idle
//	Cause       diagnose/idle    what a gap of a device is charged to
//	Analysis    diagnose/idle    a timeline with its gaps and their causes
//	Lanes       diagnose/lanes   one step, what the device and its launching thread did
//	Plan        advise           what to change, most worth first
//	Fix         advise           one piece of advice
//	Outcome     verify           before and after, and whether it helped
//	Side        verify           one of the two runs that are compared
//	Difference  verify           faster, slower, none, or too short to tell
//	Promise     verify           what was forecast beside what came
//	Spec        feed             what is done with a sample, and in which order samples come
//	Pool        feed             the threads that all loaders of a node share
//	Pass        feed             one rank's way through an epoch
//	Filled      feed             a batch that lies in its slot
//	Ring        feed/ring        the sealed memory in which batches are handed over
//	Picture     feed/decode/planes the planes of an image
//	Program     feed/picture     what is done to a picture
//	Sheet       report           a table with what stands around it
//	Trial       tune             a fix that was tried
//	Attempt     tune             one run of the command
//	State       watch            what is known of a run at some moment
