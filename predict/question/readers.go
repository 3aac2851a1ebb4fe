package question

import (
	"errors"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
)

// read reads the flags into the job. An error names the flag.
func (d *job) read() error {
	if err := d.emulate(); err != nil {
		return err
	}
	measured, err := d.readMeasured()
	if err != nil {
		return err
	}
	if err := d.readFields(); err != nil {
		return err
	}
	for _, step := range []func() error{d.readAxes, d.readDirectly, d.checkMachines, d.checkStep} {
		if err := step(); err != nil {
			return err
		}
	}
	if d.Batch == 0 && !d.On("roofline") {
		return hint.Attach(
			errors.New("--batch is missing: how many samples does a step take on each GPU?"), "--batch 256",
		)
	}
	return d.carry(measured)
}

// readFields reads all flags that describe a job, or only those in the list.
func (d *job) readFields(only ...string) error {
	for _, f := range fields() {
		if len(only) > 0 && !slices.Contains(only, f.flag) {
			continue
		}
		if err := f.read(d, f.flag); err != nil {
			return err
		}
	}
	return nil
}

// field is a flag that describes a job, with its reader.
type field struct {
	flag string
	read fieldReader
}

// fields returns the flags that describe a job, in the order in which they are read and listed. A reader
// may use what the readers before it have set.
func fields() []field {
	return []field{
		{"model", readNetwork},
		{"precision", readPrecision},
		{"software", readSoftware},
		{"gpu", readGPU},
		{"step", exactly(func(s *predict.Setup) *stoker.Interval { return &s.Step })},
		{"inference", readKind},
		{"recompute", readRecompute},
		{"shard", readShard},
		{"network", readConnection},
		{"data", readKindOfData},
		{"sample", usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Sample, d.data.Stored })},
		{"decoded", usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Decoded, d.data.Decoded })},
		{"cpu", readPrepareRate},
		{"prepare", readPrepare},
		{"hand-over", readHandOver},
		{"spread", readSpread},
		{"batch", countOf(func(s *predict.Setup) *float64 { return &s.Batch })},
		{"gpus", countOf(func(s *predict.Setup) *float64 { return &s.GPUs })},
		{"nodes", countOf(func(s *predict.Setup) *float64 { return &s.Nodes })},
		{"workers", readWorkers},
		{"cores", countOf(func(s *predict.Setup) *float64 { return &s.Cores })},
		{"access", readAccess},
		{"storage", readStorage},
		{"reads", perRead(func(s *predict.Setup) *stoker.Interval { return &s.Reads })},
		{"latency", perRead(func(s *predict.Setup) *stoker.Interval { return &s.Latency })},
		{"cached", readCached},
		{"pinned", readPinned},
		{"link", readLink},
	}
}
