package question

import (
	"math"

	"github.com/stoker-dev/stoker/predict"
)

// job is a setup together with the source of every input.
type job struct {
	predict.Setup
	*Question
	data   predict.Profile // the usual figures of the kind of data, for samples of this network
	inputs []Input
	axes   []predict.Axis
	named  []string       // parts of the title
	usual  predict.Access // how samples are stored, unless --access says otherwise
}

// unknownSetup returns a setup in which every input is unknown.
func unknownSetup() predict.Setup { return predict.Setup{Workers: math.NaN(), Cores: math.NaN()} }

func (d *job) note(name, value, source string) {
	d.inputs = append(d.inputs, Input{Name: name, Value: value, Source: source})
}

const given = Given

// unknownWord is a flag's value that keeps the usual figure of the kind of data from being filled in.
const unknownWord = "unknown"
