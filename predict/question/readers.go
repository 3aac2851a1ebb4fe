package question

import (
	"errors"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
)

// readSetup reads the flags. An error names the flag.
func (q *Question) readSetup() (*job, error) {
	d := &job{Setup: unknownSetup(), Question: q}
	if err := q.emulate(d); err != nil {
		return nil, err
	}
	measured, err := q.readMeasured()
	if err != nil {
		return nil, err
	}
	if err := d.set(); err != nil {
		return nil, err
	}
	if err := q.readAxes(d); err != nil {
		return nil, err
	}
	if err := d.readDirectly(); err != nil {
		return nil, err
	}
	if err := d.checkMachines(); err != nil {
		return nil, err
	}
	if err := d.checkStep(); err != nil {
		return nil, err
	}
	if d.Batch == 0 && !q.On("roofline") {
		return nil, hint.Attach(
			errors.New("--batch is missing: how many samples does a step take on each GPU?"), "--batch 256",
		)
	}
	return d, d.carry(measured)
}

// set reads the flags into the job, row by row.
func (d *job) set() error {
	all := readers()
	for _, flag := range readingOrder {
		if err := all[flag](d, flag); err != nil {
			return err
		}
	}
	return nil
}

// readingOrder is that in which rows are set, and their inputs listed: a row may
// need what the ones before it have set.
var readingOrder = []string{
	"model", "precision", "software", "gpu", "step", "inference", "recompute", "shard", "network",
	"data", "sample", "decoded", "cpu", "prepare", "hand-over", "spread",
	"batch", "gpus", "nodes", "workers", "cores",
	"access", "storage", "reads", "latency", "cached", "pinned", "link",
}

// readers are those of the flags that describe a job.
func readers() map[string]fieldReader {
	return map[string]fieldReader{
		"gpu":       readGPU,
		"gpus":      countOf(func(s *predict.Setup) *float64 { return &s.GPUs }),
		"model":     readNetwork,
		"inference": readKind,
		"precision": readPrecision,
		"software":  readSoftware,
		"shard":     readShard,
		"recompute": readRecompute,
		"nodes":     countOf(func(s *predict.Setup) *float64 { return &s.Nodes }),
		"network":   readConnection,
		"batch":     countOf(func(s *predict.Setup) *float64 { return &s.Batch }),
		"step":      exactly(func(s *predict.Setup) *stoker.Interval { return &s.Step }),
		"data":      readKindOfData,
		"sample":    usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Sample, d.data.Stored }),
		"decoded":   usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Decoded, d.data.Decoded }),
		"workers":   readWorkers,
		"cores":     countOf(func(s *predict.Setup) *float64 { return &s.Cores }),
		"prepare":   readPrepare,
		"cpu":       readPrepareRate,
		"spread":    readSpread,
		"hand-over": readHandOver,
		"storage":   readStorage,
		"access":    readAccess,
		"reads":     perRead(func(s *predict.Setup) *stoker.Interval { return &s.Reads }),
		"latency":   perRead(func(s *predict.Setup) *stoker.Interval { return &s.Latency }),
		"cached":    readCached,
		"link":      readLink,
		"pinned":    readPinned,
	}
}
