package tutorial

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// TransformationModel asks what the published tutorial of Tutorial asks: can the
// CPU prepare batches as fast as the accelerator takes them?
//
// It has no workers, queue, storage or copy in it, and every rate is a constant.
// Setup.Solve knows them; this is the model that readers of the tutorial expect,
// with its names.
type TransformationModel struct{}

// Transformation is what TransformationModel answers.
type Transformation struct {
	TransformTime       quantity.Seconds // the CPU prepares one batch
	AcceleratorStepTime quantity.Seconds // as it was given
	StepTime            quantity.Seconds // of both overlapped: the longer one

	IsBottleneck           bool           // the CPU takes longer than the accelerator
	AcceleratorUtilization quantity.Share // accelerator step over step
	SlowdownFactor         float64        // step over accelerator step, 1 or more
}

// Solve compares the preparation of a batch on the CPU with the accelerator's
// step, the two overlapped:
//
//	transform time = batch size x sample size / CPU throughput
//	step time      = max(transform time, accelerator step time)
//
// cpuThroughput is stored bytes per second of all workers together. A value of zero,
// negative, unknown or infinite is an error that names it.
func (TransformationModel) Solve(batchSize quantity.Count, sampleSize quantity.Bytes, cpuThroughput quantity.Rate,
	acceleratorStepTime quantity.Seconds,
) (Transformation, error) {
	if err := firstError(
		quantity.Positive("batch size", batchSize), quantity.Positive("sample size", sampleSize),
		quantity.Positive("CPU throughput", cpuThroughput),
		quantity.Positive("accelerator step time", acceleratorStepTime),
	); err != nil {
		return Transformation{}, err
	}
	prepare := quantity.Seconds(float64(batchSize) / float64(cpuThroughput) * float64(sampleSize))
	step := quantity.Seconds(predict.StepOverlapped(float64(prepare), float64(acceleratorStepTime)))
	t := Transformation{
		TransformTime: prepare, AcceleratorStepTime: acceleratorStepTime, StepTime: step,
		IsBottleneck:           prepare > acceleratorStepTime,
		AcceleratorUtilization: quantity.Share(acceleratorStepTime / step),
		SlowdownFactor:         float64(step / acceleratorStepTime),
	}
	if math.IsInf(t.SlowdownFactor, 0) || math.IsInf(float64(step), 0) || math.IsNaN(float64(step)) {
		return Transformation{}, fmt.Errorf("batch size %s of %s at %s against a step of %s: the figures are too "+
			"far apart to compare", batchSize, sampleSize, cpuThroughput, acceleratorStepTime)
	}
	return t, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
