package stoker

import "fmt"

// Stage is one part of a training step. Stages are in the order in which a batch passes through
// them.
type Stage int

// The stages of a step.
const (
	Read     Stage = iota // bytes from disk, page cache or object store
	Prepare               // decode, augment, collate into a batch
	Transfer              // host to device copy
	Compute               // the step itself, on the device or on the CPU
	Sync                  // gradient exchange between ranks
)

var stageNames = [...]string{"read", "prepare", "transfer", "compute", "sync"}

// String returns the stage's word, for example "prepare".
func (s Stage) String() string {
	if s < 0 || int(s) >= len(stageNames) {
		return fmt.Sprintf("stage(%d)", int(s))
	}
	return stageNames[s]
}

// MarshalText makes a stage readable in JSON.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Resource is what can limit a stage.
type Resource string

// The resources that can limit a stage.
const (
	Storage    Resource = "storage"     // the device or service that holds the data set
	CPU        Resource = "cpu"         // cores that the job may use
	Worker     Resource = "workers"     // one worker process: the interpreter lock keeps it on one core
	MainThread Resource = "main-thread" // the thread that launches work and, without workers, loads as well
	Link       Resource = "link"        // host to device: PCIe, NVLink-C2C
	GPU        Resource = "gpu"         // the device
	Loop       Resource = "loop"        // the training loop, on its host or its device
	// a cause of waiting within a fetch other than storage and cores: a timer, a lock, a reply
	Waiting Resource = "waiting"
	// between ranks: NVLink or PCIe within a machine, the network between machines
	Network Resource = "network"
)
