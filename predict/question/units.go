package question

import (
	"fmt"

	"github.com/stoker-dev/stoker/quantity"
)

// unit parses and prints the value of a flag.
type unit struct {
	read func(flag, text string) (value float64, printed string, err error) // more than 0
	show func(float64) string                                               // to a few digits
}

// unitOf makes a unit from the parser of a quantity.
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

// units maps flags to their units.
var units = map[string]*unit{
	"gpus":       inCounts,
	"flops":      inFLOP,
	"bytes":      inBytes,
	"kept":       inBytes,
	"layers":     inCounts,
	"grouped":    inFLOP,
	"nodes":      inCounts,
	"batch":      inCounts,
	"tokens":     inCounts,
	"side":       inCounts,
	"step":       inSeconds,
	"sample":     inBytes,
	"decoded":    inBytes,
	"workers":    inCounts,
	"cores":      inNumbers,
	"prepare":    inSeconds,
	"cpu":        inRates,
	"spread":     inNumbers,
	"hand-over":  inSeconds,
	"reads":      inNumbers,
	"latency":    inSeconds,
	"dataset":    inBytes,
	"memory":     inBytes,
	"hours":      inNumbers,
	"checkpoint": inRates,
	"mtbf":       inSeconds,
}
