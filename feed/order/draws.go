package order

// Draws is the stream of random numbers of one (seed, epoch, sample, operation):
// Philox-4x32-10, key (seed), counter (epoch, sample, operation, number of the
// draw). Who draws when, in which thread or process, changes nothing.
type Draws struct{}

// NewDraws returns the stream of one operation on one sample.
func NewDraws(seed, epoch, sample uint64, operation uint32) Draws { return Draws{} }

// Float64 returns a number in [0, 1) with 53 random bits.
func (d *Draws) Float64() float64 { return 0 }

// Below returns a whole number in [0, n), without bias; n is at least 1.
func (d *Draws) Below(n int) int { return 0 }
