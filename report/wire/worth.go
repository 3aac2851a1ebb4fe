package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/question"
)

// worthObject is the result of predict for a running job: its losses, and the gains of changes.
type worthObject struct {
	Schema      int             `json:"schema"`
	GPU         *string         `json:"gpu"`
	Utilization stoker.Interval `json:"utilization"`
	AtMost      stoker.Interval `json:"at_most"`
	Hours       float64         `json:"gpu_hours"`
	IdleHours   stoker.Interval `json:"idle_gpu_hours"`
	Dollars     stoker.Interval `json:"idle_dollars"`
	KWh         stoker.Interval `json:"idle_kwh"`
	KgCO2       stoker.Interval `json:"idle_kg_co2e"`
	Changes     []worthRow      `json:"changes"`
	Next        string          `json:"next"`
	Notes       []string        `json:"notes"`
}

type worthRow struct {
	What        string          `json:"change"`
	Speedup     stoker.Interval `json:"speedup"`
	Utilization stoker.Interval `json:"utilization"`
	Enough      *int            `json:"enough_workers"` // that do as much; null if more than half are needed
}

// WriteWorth writes the gains of another machine for a running job as one object.
func WriteWorth(w io.Writer, worth question.Worth) error {
	o := worthObject{
		Schema: schema, GPU: textOrNull(worth.GPU.Name), Utilization: worth.Utilization, AtMost: worth.AtMost,
		Hours: worth.Hours, IdleHours: worth.Waste.GPUHours, Dollars: worth.Waste.Dollars, KWh: worth.Waste.KWh,
		KgCO2: worth.Waste.KgCO2, Changes: []worthRow{}, Next: worth.Next,
		Notes: append([]string{}, worth.Notes...),
	}
	for _, row := range worth.Rows {
		o.Changes = append(o.Changes, worthRow{row.What, row.Speedup, row.Utilization, countOrNull(row.Enough)})
	}
	return WriteObject(w, o)
}
