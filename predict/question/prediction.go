package question

import "github.com/stoker-dev/stoker/predict"

// Prediction is a setup with what predict says about it, for all faces. What was
// not asked for is nil.
type Prediction struct {
	Title  string  // "ResNet-50, training, fp16, batch 256 on NVIDIA H100 80GB HBM3"
	Inputs []Input // what the answer rests on

	All     bool // say everything, not only what is reached, what limits it and what was assumed
	Costs   bool // say what idling costs, since prices were given
	Sources bool // say where each input and each part comes from, not only what was taken unasked

	Setup  predict.Setup
	Answer predict.Answer
	First  *predict.Answer // of the first epoch, where later ones find samples in memory

	Sizing *predict.Sizing
	Walls  []predict.Wall
	Waste  *predict.Waste // of Hours GPU hours
	Hours  float64
	Prices predict.Prices

	Axes   []predict.Axis // of a sweep; Setup and Answer are then its first setting
	Points []predict.Point

	Roofline *predict.Roofline
}

// Input is one thing that the answer rests on.
type Input struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // "given", or a page or table
}

// Given is the source of an input that the asker named.
const Given = "given"
