package tune

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
)

const (
	lossRows  = 10 // rows of the table
	leastRow  = 3  // least number of losses in a row
	alternate = 8  // greatest number of losses per step, such as those of several networks

	// withinRuns is the greatest difference that is accepted, in units of the run-to-run spread.
	// [J] Three runs that differ by chance only have a mean difference of 1.
	withinRuns = 2.0

	// withinBatches is the same for a program that repeats itself exactly, in units of the
	// difference that other batches would make: there any difference comes from the setting. [J]
	withinBatches = 1.0

	// halfOfSquares is the ratio of median to mean of a squared normal variable.
	halfOfSquares = 0.455

	// repeating is the ratio of Spread to Batches up to which a program counts as repeating
	// itself: its runs then differ by rounding only, which says nothing about chance.
	repeating = 0.1
)

// Losses compares the losses of two runs without a setting with those of a run with it.
type Losses struct {
	Steps int       `json:"steps"` // number of losses compared: the first calls of backward()
	Rows  []LossRow `json:"rows"`

	// Root mean squares over the rows: Difference is that between runs with and without the
	// setting, Spread that between the two runs without it, Batches what other batches would
	// change.
	Difference float64 `json:"difference"`
	Spread     float64 `json:"spread"`
	Batches    float64 `json:"batches"`

	Repeats bool     `json:"repeats"` // the program repeats itself
	Units   *float64 `json:"units"`   // Difference over Spread, or over Batches if Repeats; nil if that is 0
	Within  bool     `json:"within"`  // the difference is small enough to keep the setting
}

// LossRow holds the means of a range of losses.
type LossRow struct {
	First  int     `json:"first"` // 1-based
	Last   int     `json:"last"`
	Before float64 `json:"before"`
	Again  float64 `json:"again"`
	With   float64 `json:"with"`
}

// compareLosses compares as many losses as all three runs have. An error says why they cannot
// be compared, or that a loss with the setting is not a number.
func compareLosses(before, again, with []float64) (*Losses, error) {
	n := min(len(before), len(again), len(with))
	if n < lossRows*leastRow {
		return nil, fmt.Errorf(
			"its losses cannot be compared: backward() was called on a single number %d times in one of the runs, "+
				"and %d times are needed", n, lossRows*leastRow)
	}
	for i := range n {
		if v := before[i] + again[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("its losses cannot be compared: loss %d is not a number without it", i+1)
		}
		if math.IsNaN(with[i]) || math.IsInf(with[i], 0) {
			return nil, fmt.Errorf("loss %d is not a number with it, but is one without it", i+1)
		}
	}
	l := &Losses{Steps: n, Batches: batches(before[:n]) * math.Sqrt(2*lossRows/float64(n))}
	for k := range lossRows {
		from, to := k*n/lossRows, (k+1)*n/lossRows
		row := LossRow{from + 1, to, stat.Mean(before[from:to]), stat.Mean(again[from:to]), stat.Mean(with[from:to])}
		l.Rows = append(l.Rows, row)
		l.Spread += square(row.Again-row.Before) / lossRows
		l.Difference += (square(row.With-row.Before) + square(row.With-row.Again)) / 2 / lossRows
	}
	l.Spread, l.Difference = math.Sqrt(l.Spread), math.Sqrt(l.Difference)
	l.Repeats = l.Spread <= repeating*l.Batches
	unit, most := l.Spread, withinRuns
	if l.Repeats {
		unit, most = l.Batches, withinBatches
	}
	if unit > 0 {
		units := l.Difference / unit
		l.Units = &units
	}
	l.Within = l.Difference <= most*unit
	return l, nil
}

// batches estimates how much one loss differs from the next because of its batch alone. It
// takes the least estimate over several distances, so that several losses per step do not add
// to it, and uses medians, so that a steep fall at the beginning does not either.
func batches(losses []float64) float64 {
	least := math.Inf(1)
	for apart := 1; apart <= alternate; apart++ {
		var squares []float64
		for i := apart; i < len(losses); i++ {
			squares = append(squares, square(losses[i]-losses[i-apart]))
		}
		least = min(least, stat.Median(squares)/halfOfSquares/2)
	}
	return math.Sqrt(least)
}

func square(v float64) float64 { return v * v }

// Sentence describes how far the losses differ, in one sentence.
func (l Losses) Sentence() string {
	spread := fmt.Sprintf("two runs without it differ by %.2g", l.Spread)
	units := "infinitely many times"
	if l.Units != nil {
		units = fmt.Sprintf("%.2g times", *l.Units)
	}
	if l.Repeats {
		return fmt.Sprintf(
			"losses differ by %.2g, %s (the program repeats itself), so that the measure is what other batches would "+
				"move a row, %.2g: %s that", l.Difference, spread, l.Batches, units)
	}
	return fmt.Sprintf("losses differ by %.2g, %s, the run-to-run spread: %s that", l.Difference, spread, units)
}

// readLosses reads the file that the hook wrote (python/hook/precision.py). It skips an
// incomplete last line and returns nil if there is no file.
func readLosses(file string) (losses []float64) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if v, err := strconv.ParseFloat(strings.TrimSuffix(line, "\n"), 64); err == nil &&
			strings.HasSuffix(line, "\n") {
			losses = append(losses, v)
		}
	}
	return losses
}
