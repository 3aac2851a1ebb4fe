package question

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// meaning is what a flag does to the job that is described.
type meaning struct {
	flag string
	unit *unit // how its text is read and printed; nil where it is a name, or several things

	// set reads the flag into the job and notes where the value comes from; nil where
	// the flag is a question or belongs to another one.
	set func(*job, meaning) error
}

// findMeaning returns what a flag does.
func findMeaning(flag string) meaning {
	f := meanings()[flag]
	f.flag = flag
	return f
}

// meanings are the flags that describe a job.
func meanings() map[string]meaning {
	return map[string]meaning{
		"gpu":       {set: readGPU},
		"gpus":      {unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.GPUs })},
		"model":     {set: readNetwork},
		"flops":     {unit: inFLOP},
		"bytes":     {unit: inBytes},
		"kept":      {unit: inBytes},
		"layers":    {unit: inCounts},
		"grouped":   {unit: inFLOP},
		"inference": {set: readKind},
		"precision": {set: readPrecision},
		"software":  {set: readSoftware},
		"shard":     {set: readShard},
		"recompute": {set: readRecompute},
		"nodes":     {unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.Nodes })},
		"network":   {set: readConnection},
		"batch":     {unit: inCounts, set: countOf(func(s *predict.Setup) *float64 { return &s.Batch })},
		"tokens":    {unit: inCounts},
		"side":      {unit: inCounts},
		"step":      {unit: inSeconds, set: exactly(func(s *predict.Setup) *stoker.Interval { return &s.Step })},
		"data":      {set: readKindOfData},
		"sample": {
			unit: inBytes,
			set:  usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Sample, d.data.Stored }),
		},
		"decoded": {
			unit: inBytes,
			set:  usually(func(d *job) (*stoker.Interval, predict.Amount) { return &d.Decoded, d.data.Decoded }),
		},
		"workers":   {unit: inCounts, set: readWorkers},
		"cores":     {unit: inNumbers, set: countOf(func(s *predict.Setup) *float64 { return &s.Cores })},
		"prepare":   {unit: inSeconds, set: readPrepare},
		"cpu":       {unit: inRates, set: readPrepareRate},
		"spread":    {unit: inNumbers, set: readSpread},
		"hand-over": {unit: inSeconds, set: readHandOver},
		"storage":   {set: readStorage},
		"access":    {set: readAccess},
		"reads":     {unit: inNumbers, set: perRead(func(s *predict.Setup) *stoker.Interval { return &s.Reads })},
		"latency": {
			unit: inSeconds,
			set:  perRead(func(s *predict.Setup) *stoker.Interval { return &s.Latency }),
		},
		"dataset":    {unit: inBytes},
		"memory":     {unit: inBytes},
		"cached":     {set: readCached},
		"link":       {set: readLink},
		"pinned":     {set: readPinned},
		"hours":      {unit: inNumbers},
		"checkpoint": {unit: inRates},
		"mtbf":       {unit: inSeconds},
	}
}

// ownNetwork are the flags that describe a network that is not in the table.
var ownNetwork = []string{"flops", "bytes", "params", "kept", "layers", "grouped", "family"}

// readingOrder is that in which rows are set, and their inputs listed: a row may
// need what the ones before it have set.
var readingOrder = []string{
	"model", "precision", "software", "gpu", "step", "inference", "recompute", "shard", "network",
	"data", "sample", "decoded", "cpu", "prepare", "hand-over", "spread",
	"batch", "gpus", "nodes", "workers", "cores",
	"access", "storage", "reads", "latency", "cached", "pinned", "link",
}

// set reads the flags into the job, row by row.
func (d *job) set() error {
	for _, flag := range readingOrder {
		row := findMeaning(flag)
		if err := row.set(d, row); err != nil {
			return err
		}
	}
	return nil
}

// unit reads the text of a flag.
type unit struct {
	read func(flag, text string) (value float64, printed string, err error) // more than 0
	show func(float64) string                                               // to a few digits
}

// unitOf makes a unit of a quantity's parser.
func unitOf[Q interface {
	~float64
	fmt.Stringer
}](parse func(string) (Q, error), show func(float64) string,
) *unit {
	return &unit{show: show, read: func(flag, text string) (float64, string, error) {
		q, err := ReadQuantity(flag, text, parse)
		return float64(q), q.String(), err
	}}
}

var (
	inBytes   = unitOf(quantity.ParseBytes, quantity.AboutBytes)
	inRates   = unitOf(quantity.ParseRate, quantity.AboutRate)
	inFLOP    = unitOf(quantity.ParseFLOP, nil)
	inSeconds = unitOf(quantity.ParseSeconds, quantity.AboutSeconds)
	inCounts  = unitOf(quantity.ParseCount, quantity.About)
	inNumbers = unitOf(quantity.ParseNumber, quantity.About)
)

// unknownWord says that nobody knows, where a kind of data would fill it in.
const unknownWord = "unknown"

// readGiven hands what a flag's text says to set. A text that was not given says nothing.
func readGiven(row meaning, text string, set func(v float64, printed string)) error {
	if text == "" {
		return nil
	}
	v, printed, err := row.unit.read(row.flag, text)
	if err != nil {
		return err
	}
	set(v, printed)
	return nil
}

// countOf sets a number of the setup.
func countOf(field func(*predict.Setup) *float64) func(*job, meaning) error {
	return func(d *job, row meaning) error {
		text := d.single(row.flag)
		if text == unknownWord {
			return nil
		}
		return readGiven(row, text, func(v float64, printed string) {
			*field(&d.Setup) = v
			d.note(row.flag, printed, given)
		})
	}
}

// exactly sets a quantity of the setup that has no usual value.
func exactly(field func(*predict.Setup) *stoker.Interval) func(*job, meaning) error {
	return func(d *job, row meaning) error {
		return readGiven(row, d.Text(row.flag), func(v float64, printed string) {
			*field(&d.Setup) = stoker.Exactly(v)
			d.note(row.flag, printed, given)
		})
	}
}

// perRead sets what storage takes for one read. Whoever gives it reads one by one.
func perRead(field func(*predict.Setup) *stoker.Interval) func(*job, meaning) error {
	return func(d *job, row meaning) error {
		return readGiven(row, d.Text(row.flag), func(v float64, _ string) {
			*field(&d.Setup) = stoker.Exactly(v)
			if d.PerFile == (stoker.Interval{}) {
				d.PerFile = stoker.Exactly(1)
			}
			d.note(row.flag, row.unit.show(v), given)
		})
	}
}

// usually sets a quantity as given, without doubt, else as the kind of data has it.
func usually(field func(*job) (*stoker.Interval, predict.Amount)) func(*job, meaning) error {
	return func(d *job, row meaning) error {
		value, usual := field(d)
		switch text := d.single(row.flag); {
		case text == unknownWord:
			*value = stoker.Unknown()
		case text != "":
			return readGiven(row, text, func(v float64, printed string) {
				*value = stoker.Exactly(v)
				d.note(row.flag, printed, given)
			})
		case usual.Point > 0:
			show := row.unit.show
			*value = usual.Interval
			d.note(row.flag, fmt.Sprintf("%s (%s to %s)", show(usual.Point), show(usual.Low), show(usual.High)),
				usual.Source)
		}
		return nil
	}
}

// unknownSetup is a job of which nobody has said anything.
func unknownSetup() predict.Setup { return predict.Setup{Workers: math.NaN(), Cores: math.NaN()} }
