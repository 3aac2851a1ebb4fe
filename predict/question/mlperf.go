package question

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// StorageBenchmarkNames returns the names of MLPerf Storage's workloads.
func StorageBenchmarkNames() (names []string) {
	for _, b := range predict.StorageBenchmarks {
		names = append(names, b.Name)
	}
	return names
}

// emulate fills in what MLPerf Storage prescribes for a training workload, unless a flag gives it. The
// benchmark has no GPU: its accelerator sleeps for the time of a step.
func (d *job) emulate() error {
	if d.Text("mlperf") == "" {
		return nil
	}
	b, known := predict.FindStorageBenchmark(d.Text("mlperf"))
	if !known {
		return fmt.Errorf("--mlperf %q is not a workload of MLPerf Storage v2.0: expected one of %s", d.Text("mlperf"),
			strings.Join(StorageBenchmarkNames(), ", "))
	}
	if d.Text("model") != "" || d.Text("data") != "" || d.hasOwnNetwork() {
		return fmt.Errorf("--mlperf %s names network and data itself: leave --model, --data and --flops out", b.Name)
	}
	gpu := cmp.Or(d.Text("gpu"), "h100")
	if row, known := d.Table.FindGPU(gpu); known {
		gpu = row.Name
	}
	step, accelerator := b.StepOn(gpu)
	if accelerator == "" && d.Text("step") != "" {
		accelerator = gpu
	}
	if accelerator == "" {
		return fmt.Errorf("--gpu %q: MLPerf Storage emulates a100 and h100: give the time of a batch on another "+
			"one, --step 100ms", d.Text("gpu"))
	}
	d.Texts["gpu"] = ""
	d.named = append(d.named, "MLPerf Storage "+b.Title, "emulated "+strings.ToUpper(accelerator))
	exact := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	d.fill("batch", exact(b.Batch))
	d.fill("step", exact(step)+"s")
	d.fill("sample", exact(math.Round(b.Record))+"B")
	d.fill("decoded", exact(b.Decoded)+"B")
	d.fill("spread", exact(b.Spread))
	d.fill("access", string(b.Access))
	if !slices.ContainsFunc(predict.AxisNames, func(flag string) bool { return isRange(d.Text(flag)) }) {
		d.fill("for", exact(100*b.AU)+"%")
	}
	d.note("mlperf", b.Name+", as MLPerf Storage sets batch, step, sample, access and target", b.Source)
	return nil
}

// askCheckpoint forecasts how long a checkpoint of MLPerf Storage takes to write.
func (q *Question) askCheckpoint(b predict.StorageBenchmark) (Prediction, error) {
	cluster, err := q.readCluster()
	if err != nil {
		return Prediction{}, err
	}
	if q.Text("checkpoint") == "" {
		return Prediction{}, fmt.Errorf("--mlperf %s is about checkpoints: give the rate at which one is "+
			"written, such as --checkpoint 40GB/s, and --mtbf 24h for how often", b.Name)
	}
	wall, err := cluster.Checkpoint(b.State)
	if err != nil {
		return Prediction{}, err
	}
	return Prediction{
		Title: "MLPerf Storage checkpointing, " + b.Title, Sources: q.On("sources"), Walls: []predict.Wall{wall},
		Inputs: []Input{{Name: "checkpoint", Value: quantity.AboutBytes(b.State), Source: b.Source}},
	}, nil
}

// emulatedStep returns a note if MLPerf Storage emulates the same step with another time, since storage
// that suits one then does not suit the other.
func (d *job) emulatedStep(a predict.Answer) string {
	step, accelerator := predict.EmulatedStep(d.Load, d.Batch)
	forecast := a.Compute().Point
	if times := forecast / step; !(times > 0) || times > 1/1.3 && times < 1.3 {
		return ""
	}
	return fmt.Sprintf("MLPerf Storage emulates %s of %s with %s for this batch, this forecast is %s: storage for "+
		"one is not sized for the other (--mlperf %s asks as the benchmark does)",
		d.Load.Workload.Title, strings.ToUpper(accelerator), quantity.AboutSeconds(step),
		quantity.AboutSeconds(forecast), d.Load.Workload.Name)
}
