package question

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/quantity"
)

// limit is the smallest and the largest value of a flag; 0 means no limit. A value outside is a
// typing error or a wrong unit, and an answer to it would look as good as any other.
type limit struct{ least, most float64 }

// Limits in base units. [J] Each is beyond what any published job, machine or price has.
const (
	day         = 86400.
	leastSample = 1.    // bytes
	mostSample  = 32e12 // bytes: the largest machines have as much memory
	leastRate   = 1e3   // bytes/s: a modem
	mostRate    = 10e12 // bytes/s: Frontier's whole file system; memory of a Grace CPU reaches 0.5 TB/s
	mostBytes   = 1e21
	mostCount   = 1e8
)

// limits maps flags to their limits. All verbs of predict share them.
var limits = map[string]limit{
	"gpus":       {1, 0}, // each verb has its own
	"nodes":      {1, 1e6},
	"batch":      {1, mostCount},
	"tokens":     {1, mostCount},
	"side":       {1, 1e6},
	"layers":     {1, 1e6},
	"workers":    {0, 1e4},
	"cores":      {0.01, 1e6}, // a container's quota is 1 ms of 100 ms at least
	"flops":      {1, 1e21},
	"grouped":    {1, 1e21},
	"bytes":      {1, 1e18},
	"kept":       {1, 1e18},
	"step":       {0, day},
	"prepare":    {0, day},
	"latency":    {0, day},
	"hand-over":  {0, day},
	"spread":     {0, 100},
	"sample":     {leastSample, mostSample},
	"decoded":    {leastSample, mostSample},
	"dataset":    {leastSample, mostBytes},
	"memory":     {leastSample, mostBytes},
	"reads":      {1e-3, 1e12},
	"storage":    {leastRate, mostRate},
	"cpu":        {leastRate, mostRate},
	"link":       {leastRate, mostRate},
	"network":    {leastRate, mostRate},
	"checkpoint": {0, mostRate}, // a rate, or in a fleet a time
	"hours":      {0, 1e12},
	"years":      {0, 100},
	"price":      {0, 1e4}, // dollars an hour
	"kwh":        {0, 1e3},
	"pue":        {1, 100},
	"mtbf":       {0, 1e5 * day},
	"restart":    {0, 100 * day},
}

// checkLimit refuses a value outside the flag's limits. show prints a value in the unit of the flag.
func checkLimit(flag string, value float64, show func(float64) string) error {
	l, known := limits[flag]
	switch {
	case !known:
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
