package wire

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// jsonLedgerRow is a row of a run's time: the rows add up to it.
type jsonLedgerRow struct {
	Row     string     `json:"row"`
	Seconds float64    `json:"seconds"`
	Share   float64    `json:"share"` // of the run's time
	Count   int        `json:"count"`
	Busy    *float64   `json:"busy_s"` // with a kernel on the device
	Idle    *float64   `json:"idle_s"`
	Waits   []jsonWait `json:"waits"` // what the device waits for while idle, most first
	Line    *string    `json:"line"`  // line of the program
	Kind    *string    `json:"line_kind"`
	Looks   *float64   `json:"line_share"` // share of the samples of the launching thread
	Saves   *float64   `json:"saves"`      // seconds, at most
}

type jsonWait struct {
	For     string  `json:"for"`
	Seconds float64 `json:"seconds"`
}

func ledgerJSON(l diagnose.Ledger) []jsonLedgerRow {
	rows := []jsonLedgerRow{}
	for _, r := range l.Rows {
		row := jsonLedgerRow{
			Row: string(r.Name), Seconds: r.Seconds, Share: r.Share, Count: r.Count, Busy: stat.Known(r.Busy),
			Idle: stat.Known(r.Idle), Waits: []jsonWait{}, Line: textOrNull(r.Line.String()),
			Kind: textOrNull(string(r.Line.Kind)), Looks: stat.Known(r.LineShare), Saves: stat.Known(r.Saves),
		}
		for _, w := range r.Waits {
			row.Waits = append(row.Waits, jsonWait{string(w.For), w.Seconds})
		}
		rows = append(rows, row)
	}
	return rows
}

// jsonMeasured is a measured figure.
type jsonMeasured struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Origin string  `json:"origin"`
}

func measuredJSON(m diagnose.Measured) []jsonMeasured {
	figures := []jsonMeasured{}
	for _, f := range m.Figures() {
		if v := stat.Known(f.Value); v != nil {
			figures = append(figures, jsonMeasured{f.Name, *v, f.Unit, f.Origin})
		}
	}
	return figures
}
