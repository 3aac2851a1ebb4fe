package predict

import (
	"math"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cost"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report"
)

// priceRows are the rows of what a GPU hour and its electricity cost.
func priceRows() (rows []predictFlag) {
	for _, f := range cost.Rows {
		rows = append(rows, predictFlag{flag: f.Flag, help: f.Help})
	}
	return rows
}

// fillWaste fills in what the idle share costs; nothing where neither its share nor a
// price is known.
func (f *predictFlags) fillWaste(s *described, table hardware.Table, p *report.Prediction) (err error) {
	if p.Prices, err = f.Read(s.Load.GPU, table); err != nil {
		return err
	}
	p.Hours = cost.HoursOfDay * math.Max(1, s.GPUs)
	if f.givenText("hours") != "" {
		if p.Hours, _, err = f.value("hours"); err != nil {
			return err
		}
	}
	w := predict.Idle(s.Load.GPU, p.Answer.Stall, p.Hours, p.Prices)
	if w.Dollars.Low >= 0 || w.KWh.Low >= 0 {
		p.Waste = &w
	}
	return nil
}
