package predict

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/internal/spelling"
	"github.com/stoker-dev/stoker/predict/device"
)

// StorageBenchmark is a workload of MLPerf Storage. A training workload reads as a
// training does while an emulated accelerator sleeps for each batch; a checkpointing
// workload writes and reads the state of a language model.
type StorageBenchmark struct {
	Name     string // "unet3d"
	Title    string
	Workload string // key of our network, where there is one

	Batch   float64
	Step    map[string]float64 // seconds that an emulated accelerator ("a100", "h100") takes for a batch
	AU      float64            // least accelerator utilisation of a valid result, 0 to 1
	Record  float64            // mean bytes of a sample
	Spread  float64            // coefficient of variation of these bytes
	Decoded float64            // bytes of a sample as the benchmark hands it on
	Access  Access

	State float64 // bytes of a checkpoint; 0 for a training workload

	Source string
}

const dlio = "MLPerf Storage v2.0, configs/dlio/workload (github.com/mlcommons/storage, 2025-06)"

// StorageBenchmarks are the workloads of MLPerf Storage v2.0.
var StorageBenchmarks = []StorageBenchmark{
	{
		Name: "resnet50", Title: "ResNet-50", Workload: "resnet50", Batch: 400,
		Step: map[string]float64{"a100": 0.435, "h100": 0.224}, AU: 0.9,
		Record: 114660.07, Decoded: 150528, Access: Sequential, Source: dlio + ": 1,251 samples a TFRecord file",
	},
	{
		Name: "unet3d", Title: "3-D U-Net", Workload: "unet3d", Batch: 7,
		Step: map[string]float64{"a100": 0.636, "h100": 0.323}, AU: 0.9,
		Record: 146600628, Spread: 68341808.0 / 146600628, Decoded: 2097152, Access: Files,
		Source: dlio + ": one sample a .npz file",
	},
	{
		Name: "cosmoflow", Title: "CosmoFlow", Batch: 1, Step: map[string]float64{"a100": 0.00551, "h100": 0.0035},
		AU:     0.7,
		Record: 2828486, Spread: 71311.0 / 2828486, Decoded: 2828486, Access: Files,
		Source: dlio + ": one sample a TFRecord file",
	},
	{Name: "llama3-8b", Title: "Llama 3 8B", State: 105e9, Source: checkpoints},
	{Name: "llama3-70b", Title: "Llama 3 70B", State: 912e9, Source: checkpoints},
	{Name: "llama3-405b", Title: "Llama 3 405B", State: 5.29e12, Source: checkpoints},
	{Name: "llama3-1t", Title: "Llama 3 1T", State: 18e12, Source: checkpoints},
}

const checkpoints = "MLPerf Storage v2.0, Submission_guidelines.md, checkpoint size " +
	"(github.com/mlcommons/storage, 2025-06)"

// FindStorageBenchmark returns the workload of that name, spelled as loosely as in
// FindWorkload.
func FindStorageBenchmark(name string) (StorageBenchmark, bool) {
	return spelling.Find(name, StorageBenchmarks, func(b StorageBenchmark) []string { return []string{b.Name} })
}

// StepOn returns the seconds that the benchmark gives a batch on the emulated accelerator
// whose name the GPU's key begins with, and that name; NaN and "" if it emulates none.
func (b StorageBenchmark) StepOn(gpu string) (seconds float64, accelerator string) {
	for name, step := range b.Step {
		if strings.HasPrefix(gpu, name) {
			return step, name
		}
	}
	return math.NaN(), ""
}

// EmulatedStep returns what MLPerf Storage gives a batch of a load: seconds for as many
// samples on the emulated accelerator, and its name; NaN and "" if it has no such row.
func EmulatedStep(l device.Load, batch float64) (seconds float64, accelerator string) {
	for _, b := range StorageBenchmarks {
		if l.Training && b.Workload != "" && b.Workload == l.Workload.Name {
			step, name := b.StepOn(l.GPU.Name)
			return step * batch / b.Batch, name
		}
	}
	return math.NaN(), ""
}
