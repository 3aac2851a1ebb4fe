// Package hardware says what machines can do: a row per GPU, host link, class of
// storage, CPU and electricity grid, every figure with source and date. Users add
// rows in a file (Parse) that win over the built-in ones (Table.With).
//
// It measures nothing and predicts nothing; predict reads rates from it where a
// run did not measure its own.
//
// What the figures mean, and where data sheets mislead:
//
//   - Bandwidths are bytes per second in one direction, 1 GB = 10^9 bytes. Data
//     sheets give NVLink and PCIe as the sum of both directions: halved here.
//   - Peaks are dense, with 32-bit accumulation. The doubled "with sparsity"
//     figures of data sheets are halved; GeForce cards reach their printed FP16
//     peak only with 16-bit accumulation and half of it otherwise.
//   - Memory is what the driver reports, which a "GB" on a sheet only resembles.
//   - Idle power is that of a device without a process. A training job that waits
//     holds a CUDA context, which costs more: see ContextPower.
//   - A figure that is not known is the zero Figure, as is the peak of a unit that
//     the device does not have. Neither is ever to be printed as 0.
package hardware

// Figure is one number with its source.
type Figure struct {
	Value  float64
	Source string // data sheet, paper or measurement, with date; "assumption" with its reason where it is one
}

// Known says whether there is a figure at all.
func (f Figure) Known() bool { return f.Value > 0 }
