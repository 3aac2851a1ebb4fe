package question

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/quantity"
)

// flagValue says how the value of a flag is written, and which values it may have. All verbs of predict
// share the table.
type flagValue struct {
	unit        *unit
	least, most float64 // in base units; 0 means no limit
}

// Limits in base units. [J] Each is beyond what any published job, machine or price has. A value outside is a
// typing error or a wrong unit, and an answer to it would look as good as any other.
const (
	day         = 86400.
	leastSample = 1.    // bytes
	mostSample  = 32e12 // bytes: the largest machines have as much memory
	leastRate   = 1e3   // bytes/s: a modem
	mostRate    = 10e12 // bytes/s: Frontier's whole file system; memory of a Grace CPU reaches 0.5 TB/s
	mostBytes   = 1e21
	mostCount   = 1e8
)

var flagValues = map[string]flagValue{
	"gpus":       {inCounts, 1, 0}, // each verb has its own limit
	"nodes":      {inCounts, 1, 1e6},
	"batch":      {inCounts, 1, mostCount},
	"tokens":     {inCounts, 1, mostCount},
	"side":       {inCounts, 1, 1e6},
	"layers":     {inCounts, 1, 1e6},
	"workers":    {inCounts, 0, 1e4},
	"cores":      {inNumbers, 0.01, 1e6}, // a container's quota is 1 ms of 100 ms at least
	"flops":      {inFLOP, 1, 1e21},
	"grouped":    {inFLOP, 1, 1e21},
	"bytes":      {inBytes, 1, 1e18},
	"kept":       {inBytes, 1, 1e18},
	"step":       {inSeconds, 0, day},
	"prepare":    {inSeconds, 0, day},
	"latency":    {inSeconds, 0, day},
	"hand-over":  {inSeconds, 0, day},
	"spread":     {inNumbers, 0, 100},
	"sample":     {inBytes, leastSample, mostSample},
	"decoded":    {inBytes, leastSample, mostSample},
	"dataset":    {inBytes, leastSample, mostBytes},
	"memory":     {inBytes, leastSample, mostBytes},
	"reads":      {inNumbers, 1e-3, 1e12},
	"storage":    {inRates, leastRate, mostRate},
	"cpu":        {inRates, leastRate, mostRate},
	"link":       {inRates, leastRate, mostRate},
	"network":    {inRates, leastRate, mostRate},
	"checkpoint": {inRates, 0, mostRate}, // in a fleet it is a time
	"hours":      {inNumbers, 0, 1e12},
	"years":      {inNumbers, 0, 100},
	"price":      {nil, 0, 1e4}, // dollars an hour
	"kwh":        {inNumbers, 0, 1e3},
	"pue":        {inNumbers, 1, 100},
	"mtbf":       {inSeconds, 0, 1e5 * day},
	"restart":    {inSeconds, 0, 100 * day},
}

// unit parses and prints quantities of a kind.
type unit struct {
	parse func(flag, text string) (float64, error) // more than 0; an error names the flag
	print func(float64) string                     // such that it parses to the same value
	show  func(float64) string                     // to a few digits
}

var (
	inBytes   = unitOf(quantity.ParseBytes, quantity.AboutBytes)
	inRates   = unitOf(quantity.ParseRate, quantity.AboutRate)
	inFLOP    = unitOf(quantity.ParseFLOP, nil)
	inSeconds = unitOf(quantity.ParseSeconds, quantity.AboutSeconds)
	inCounts  = unitOf(quantity.ParseCount, quantity.About)
	inNumbers = unitOf(quantity.ParseNumber, quantity.About)
)

// printable is a quantity with a unit.
type printable interface {
	~float64
	fmt.Stringer
}

// unitOf makes a unit from the parser of a quantity.
func unitOf[Q printable](parse func(string) (Q, error), show func(float64) string) *unit {
	return &unit{
		parse: func(flag, text string) (float64, error) {
			q, err := parsePositive(flag, text, parse)
			return float64(q), err
		},
		print: printAs[Q], show: show,
	}
}

func printAs[Q printable](v float64) string { return Q(v).String() }

func parsePositive[Q printable](flag, text string, parse func(string) (Q, error)) (Q, error) {
	q, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", flag, err)
	}
	return q, quantity.Positive("--"+flag, q)
}

// value parses a flag in its unit. The value is more than 0, and printed is how people read it.
func (q *Question) value(flag string) (value float64, printed string, err error) {
	unit := flagValues[flag].unit
	if value, err = unit.parse(flag, q.Text(flag)); err != nil {
		return 0, "", err
	}
	return value, unit.print(value), checkLimit(flag, value, unit.print)
}

// ReadQuantity reads a flag's text that must be more than 0 and within the flag's limits. An error names
// the flag.
func ReadQuantity[Q printable](flag, text string, parse func(string) (Q, error)) (Q, error) {
	q, err := parsePositive(flag, text, parse)
	if err != nil {
		return q, err
	}
	return q, checkLimit(flag, float64(q), printAs[Q])
}

// checkLimit refuses a value outside the flag's limits. show prints a value in the unit of the flag.
func checkLimit(flag string, value float64, show func(float64) string) error {
	switch l := flagValues[flag]; {
	case value < l.least:
		return fmt.Errorf("--%s is %s, less than any job has: expected at least %s", flag, show(value), show(l.least))
	case l.most > 0 && value > l.most:
		return fmt.Errorf("--%s is %s, more than any job has: expected at most %s", flag, show(value), show(l.most))
	}
	return nil
}

// checkCount is checkLimit of a number without a unit.
func checkCount(flag string, value float64) error {
	if math.IsNaN(value) {
		return nil
	}
	return checkLimit(flag, value, func(v float64) string { return quantity.Number(v).String() })
}
