package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

func storageBenchmarkNames() (names []string) {
	for _, b := range predict.StorageBenchmarks {
		names = append(names, b.Name)
	}
	return names
}

// readStorageBenchmark is the workload that --mlperf names.
func (f *predictFlags) readStorageBenchmark() (predict.StorageBenchmark, error) {
	b, known := predict.FindStorageBenchmark(f.givenText("mlperf"))
	if !known {
		return b, fmt.Errorf("--mlperf %q is no workload of MLPerf Storage v2.0: expected one of %s",
			f.givenText("mlperf"), strings.Join(storageBenchmarkNames(), ", "))
	}
	return b, nil
}

// emulate fills in what MLPerf Storage gives a training workload, in place of what was
// not said. The benchmark has no GPU: its accelerator sleeps for each batch.
func (f *predictFlags) emulate(d *described, table hardware.Table) error {
	if f.givenText("mlperf") == "" {
		return nil
	}
	b, err := f.readStorageBenchmark()
	if err != nil {
		return err
	}
	if f.givenText("model") != "" || f.givenText("data") != "" || f.given() {
		return fmt.Errorf("--mlperf %s names network and data itself: leave --model, --data and --flops out", b.Name)
	}
	gpu := cmp.Or(f.givenText("gpu"), "h100")
	if row, known := table.FindGPU(gpu); known {
		gpu = row.Name
	}
	step, accelerator := b.StepOn(gpu)
	if accelerator == "" && f.givenText("step") != "" {
		accelerator = gpu
	}
	if accelerator == "" {
		return fmt.Errorf("--gpu %q: MLPerf Storage emulates a100 and h100: give the time of a batch on another "+
			"one, --step 100ms", f.givenText("gpu"))
	}
	*f.texts["gpu"] = ""
	d.named = append(d.named, "MLPerf Storage "+b.Title, "emulated "+strings.ToUpper(accelerator))
	exact := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	f.fill("batch", exact(b.Batch))
	f.fill("step", exact(step)+"s")
	f.fill("sample", exact(math.Round(b.Record))+"B")
	f.fill("decoded", exact(b.Decoded)+"B")
	f.fill("spread", exact(b.Spread))
	f.fill("access", string(b.Access))
	if !slices.ContainsFunc(predict.AxisNames, func(flag string) bool { return isRange(f.givenText(flag)) }) {
		f.fill("for", exact(100*b.AU)+"%")
	}
	d.note("mlperf", b.Name+", as MLPerf Storage sets batch, step, sample, access and target", b.Source)
	return nil
}

// askCheckpoint says how long a checkpoint of MLPerf Storage's checkpointing takes.
func (f *predictFlags) askCheckpoint(b predict.StorageBenchmark) (report.Prediction, error) {
	cluster, err := f.readCluster()
	if err != nil {
		return report.Prediction{}, err
	}
	if f.givenText("checkpoint") == "" {
		return report.Prediction{}, fmt.Errorf("--mlperf %s is about checkpoints: give the rate at which one is "+
			"written, such as --checkpoint 40GB/s, and --mtbf 24h for how often", b.Name)
	}
	wall, err := cluster.Checkpoint(b.State)
	if err != nil {
		return report.Prediction{}, err
	}
	return report.Prediction{
		Title: "MLPerf Storage checkpointing, " + b.Title, Sources: f.on("sources"), Walls: []predict.Wall{wall},
		Inputs: []report.Input{{Name: "checkpoint", Value: quantity.AboutBytes(b.State), Source: b.Source}},
	}, nil
}

// emulatedStep is a note on the forecast of a step that MLPerf Storage emulates with
// another time: storage that is sized for one is not sized for the other.
func (d *described) emulatedStep(a predict.Answer) string {
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
