// Package rocprof reads the JSON that rocprofv3 of ROCm writes (--output-format json) into the
// columns of a recording.Timeline: kernels, copies, calls of HIP and roctx ranges.
//
// The file is read from front to back, one record at a time. Names are in separate tables,
// before the records or behind them, so records keep numbers until the end.
//
// Its neighbours are kineto, nsight and xplane. Counters, samples, calls of HSA and the fields of a
// kernel that are not needed are skipped.
package rocprof
