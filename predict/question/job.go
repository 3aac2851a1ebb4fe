package question

import (
	"math"

	"github.com/stoker-dev/stoker/predict"
)

// job is a setup with where each part of it comes from.
type job struct {
	predict.Setup
	*Question
	data   predict.Profile // the kind of data, of a sample of this network
	inputs []Input
	axes   []predict.Axis
	named  []string       // words of the title
	usual  predict.Access // how samples lie in storage
}

// unknownSetup is a job without any figure.
func unknownSetup() predict.Setup { return predict.Setup{Workers: math.NaN(), Cores: math.NaN()} }

func (d *job) note(name, value, source string) {
	d.inputs = append(d.inputs, Input{Name: name, Value: value, Source: source})
}

const given = Given

// unknownWord keeps a figure unknown that the kind of data would fill in.
const unknownWord = "unknown"
