package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/question"
)

// fleetObject is the result of predict fleet.
type fleetObject struct {
	Schema      int             `json:"schema"`
	GPU         string          `json:"gpu"`
	GPUs        float64         `json:"gpus"`
	Years       float64         `json:"years"`
	Computes    float64         `json:"utilization"`
	Hours       float64         `json:"gpu_hours"`
	Dollars     stoker.Interval `json:"dollars"`
	PerHour     stoker.Interval `json:"dollars_per_working_gpu_hour"`
	Idle        stoker.Interval `json:"idle_dollars"`
	MTBF        stoker.Interval `json:"mtbf_s"`
	Every       stoker.Interval `json:"checkpoint_interval_s"`
	Goodput     stoker.Interval `json:"goodput"`
	KWh         stoker.Interval `json:"kwh"`
	OperatingKg stoker.Interval `json:"operating_kg_co2e"`
	MakingKg    stoker.Interval `json:"making_kg_co2e"`
	SiteLitres  stoker.Interval `json:"site_water_litres"`
	PlantLitres stoker.Interval `json:"plant_water_litres"`
	Assumed     []string        `json:"assumed"`
	Sources     []string        `json:"sources"`
}

// WriteFleet writes the cost of a fleet over years as one object.
func WriteFleet(w io.Writer, f question.Fleet) error {
	q := f.Question
	return WriteObject(w, fleetObject{
		schema, q.GPU.Name, q.GPUs, q.Years, q.Computes, f.Hours, f.Dollars, f.PerHour, f.Idle, f.MTBF, f.Every,
		f.Goodput, f.KWh, f.OperatingKg, f.MakingKg, f.SiteLitres, f.PlantLitres, append([]string{}, f.Assumed...),
		q.Sources(),
	})
}
