package diagnose

import "github.com/stoker-dev/stoker/internal/stat"

// Ramp is where the answer to a question turns from no to yes: it scores 0 at No, 1 at Yes, and
// in between in proportion. No > Yes asks for less. All ramps stand in thresholds.go.
type Ramp struct {
	No, Yes float64
	Unit    string
	Source  string // "[J]", "published: where" or "measured: where"
}

// Score is how much of a yes a value is; 0 if it is unknown.
func (r Ramp) Score(value float64) float64 { return stat.Ramp(value, r.No, r.Yes) }

// AtNo is a ramp that turns at once, where this one begins.
func (r Ramp) AtNo() Ramp { return Ramp{r.No, r.No, r.Unit, r.Source} }
