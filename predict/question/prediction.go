package question

import "github.com/stoker-dev/stoker/predict"

// Prediction is the answer about a setup, which text, JSON and pages print. Parts that were not asked for
// are nil.
type Prediction struct {
	Title  string  // "ResNet-50, training, fp16, batch 256 on NVIDIA H100 80GB HBM3"
	Inputs []Input // what the answer rests on

	All     bool // print everything, and not only rate, limit and assumptions
	Costs   bool // print what idling costs, since prices were given
	Sources bool // print the source of every input and part, and not only of assumed ones

	Setup  predict.Setup
	Answer predict.Answer
	Enough int             // workers that do as much as the setup's; 0 if more than half of them are needed
	First  *predict.Answer // of the first epoch, if later ones find samples in memory

	Sizing *predict.Sizing
	Walls  []predict.Wall
	Waste  *predict.Waste // of Hours GPU hours
	Hours  float64
	Prices predict.Prices

	Axes   []predict.Axis // of a sweep; Setup and Answer are then its first setting
	Points []predict.Point

	Roofline *predict.Roofline
	Place    *predict.Roofline // of one setting on its device, for a page; nil if unknown
}

// Input is one input of the answer.
type Input struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // "given", or a page or table
}

// Given is the source of an input that the user gave.
const Given = "given"
