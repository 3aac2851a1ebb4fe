// Package device says how long a device takes for a step: the device alone, its input
// at hand.
//
// A Load is a network on a GPU in a precision and a class of software. Load.StepCurve is its
// step time over the batch size: FLOP and bytes at efficiencies that were fitted to
// published steps, corrected by published steps of the same network, with an interval
// as wide as the errors at sources that were left out. Load.Anchored carries a step that
// was measured (Measured) to another batch size, GPU, precision or class.
// Load.ExchangeOver is what data-parallel ranks send each other.
//
// # Published steps
//
// published.csv holds the published step times that Load.StepCurve rests on, one a row:
//
//	network    key of a Workload
//	kind       training or inference
//	gpu        key of a hardware row
//	precision  fp32, tf32, fp16, bf16, fp8, int8
//	software   eager, channels-last, compiled, engine
//	tokens     of a sample; 0 if samples are not sequences
//	side       of a sample, pixels or voxels; 0 if samples have none
//	batch      samples per step and GPU
//	weight     1 over the root of the number of rows in its table, which share their errors
//	error      logarithm of the measured over the predicted step
//	device     how much of the step is the device's, by the prediction, 0 to 1
//	source     repository, file, date
//
// fitted.csv holds what those steps say of all networks, as key and value: shares of
// peaks, factors and seconds as the type efficiency documents them, and the half widths
// of the intervals as logarithms: width/exact/training/launch. They hold 85 % of the
// repositories that were left out of the fit in training, 90 % in inference.
//
// go test ./predict/device -run Efficiencies -fit writes both from testdata/fit.csv.
//
// It knows no loader, no storage and no workers: package predict does.
package device
