// Package question answers stoker predict. A Question holds the flags as they were typed. They are read
// into a job, which is a predict.Setup with the source of each input, and the job is solved into a
// Prediction. About a job that runs already, the answer is a Worth.
package question

import (
	"errors"
	"fmt"

	"github.com/stoker-dev/stoker/predict"
)

// Predict answers the question. An error names the flag, and has a hint if one is known.
func (q *Question) Predict() (p Prediction, err error) {
	defer func() { err = addRemedy(err) }()
	if b, known := predict.FindStorageBenchmark(q.Text("mlperf")); known && b.State > 0 {
		return q.askCheckpoint(b)
	}
	d := &job{Setup: unknownSetup(), Question: q}
	if err := d.read(); err != nil {
		return Prediction{}, err
	}
	p = Prediction{
		Setup: d.Setup, Inputs: d.inputs, Axes: d.axes, Title: d.title(), Sources: q.On("sources"),
		All: q.On("all") || q.On("sources"),
	}
	for _, flag := range priceFlags {
		p.Costs = p.Costs || q.Text(flag) != ""
	}
	switch {
	case q.On("roofline"):
		err = d.askRoofline(&p)
	case len(d.axes) > 0:
		err = d.askSweep(&p)
	default:
		err = d.askOne(&p)
	}
	return p, err
}

// askOne solves a job without ranges, and the further questions about it.
func (d *job) askOne(p *Prediction) error {
	if d.Drawn {
		return errors.New("-o FILE.svg draws a sweep or a roofline: give one or two settings a range (--batch " +
			"32..1024), or add --roofline. -o FILE.html writes a page of one setting, too")
	}
	var err error
	if p.Answer, err = d.Solve(); err != nil {
		return err
	}
	p.Enough = d.FewestWorkers()
	if note := d.emulatedStep(p.Answer); note != "" {
		p.Answer.Notes = append(p.Answer.Notes, note)
	}
	if err := d.askFirst(p); err != nil {
		return err
	}
	if d.Text("out") != "" {
		if place, unknown := d.DrawRoofline(); unknown == nil {
			p.Place = &place
		}
	}
	if d.Text("for") != "" {
		if p.Sizing, err = d.sizeForTarget(); err != nil {
			return err
		}
	}
	if d.On("walls") {
		cluster, err := d.readCluster()
		if err != nil {
			return err
		}
		if p.Walls, err = d.Walls(cluster); err != nil {
			return err
		}
	}
	return d.fillWaste(p)
}

// askFirst solves the first epoch apart, if later ones find a part of the data set in memory.
func (d *job) askFirst(p *Prediction) error {
	if d.Text("cached") == "" && d.Text("dataset") == "" || d.Cached == 0 {
		return nil
	}
	first := d.Setup
	first.Cached = 0
	a, err := first.Solve()
	p.First = &a
	return err
}

// mostPoints is how many settings a sweep may have.
const mostPoints = 1_000_000

func (d *job) askSweep(p *Prediction) error {
	if d.Text("for") != "" || d.On("walls") {
		return errors.New("--for and --walls are about one setting: leave the range out")
	}
	n := 1
	for _, axis := range d.axes {
		n *= len(axis.Values)
	}
	if n > mostPoints {
		return fmt.Errorf("a sweep over %d settings: expected at most %d", n, mostPoints)
	}
	var err error
	if p.Answer, err = d.Solve(); err != nil {
		return err
	}
	p.Points = make([]predict.Point, 0, n)
	return predict.Sweep(d.Setup, d.axes, func(point predict.Point) { p.Points = append(p.Points, point) })
}
