// Package hardware lists what machines can do: one row per GPU, host link, network, class of
// storage, CPU and electricity grid, with source and date of every figure. Users add rows in a
// file (Parse), which override the built-in ones (Table.With).
//
// It measures nothing and predicts nothing. predict takes rates from it that a run did not
// measure.
//
// Meaning of the figures, and where data sheets mislead:
//
//   - Bandwidths are bytes per second in one direction, 1 GB = 10^9 bytes. Data
//     sheets give NVLink and PCIe as the sum of both directions: halved here.
//   - Peaks are dense, with 32-bit accumulation. Data sheets often give twice that
//     "with sparsity": halved here. GeForce cards reach the FP16 peak of their sheet
//     only with 16-bit accumulation, and half of it otherwise.
//   - Memory is what the driver reports, which differs from the "GB" of the sheet.
//   - Idle power is that of a device without a process. A training job short of input
//     has a CUDA context, which needs more: see ContextPower.
//   - An unknown figure is the zero Figure, and so is the peak of a unit that the
//     device does not have. It must not be printed as 0.
package hardware

// Figure is one number with its source.
type Figure struct {
	Value  float64
	Source string // data sheet, paper or measurement, with date; or "assumption" with its reason
}

// Known reports whether the figure is known.
func (f Figure) Known() bool { return f.Value > 0 }
