package diagnose

// Thresholds of the ledger and of what it leads with, in one table. [J] is a judgement that no
// measurement stands behind; the others name their source.
const (
	// leastWaited is the share of a row's time from which what its device waits for is told. [J]
	// Below it the row is no loss that anybody looks for.
	leastWaited = 0.05

	// LeadingLoss is the share of the run that a row beside the steps loses from which it may be
	// what a verdict leads with. FedStall of the steps is the same figure.
	LeadingLoss = FedStall

	// MuchLonger is how many typical loops a first step takes from which it is one of the warm-up. [J]
	MuchLonger = 3.0

	// LeadingOnce is how long what comes once takes before it may lead, seconds, and
	// LeadingOnceShare which share of the run it is then. [J] A job of hours has no more of it than
	// a trial of a minute.
	LeadingOnce      = 120.0
	LeadingOnceShare = 0.5

	// NamedLine is the share of a row's looks from which its line is named. [J]
	NamedLine = 0.3

	// SomeSlowCV and FewSlowCV are coefficients of variation of fetches: from the first on few may be slow,
	// from the second on they are. [J] Fetches of alike samples vary by less than half of their mean.
	SomeSlowCV = 1.0
	FewSlowCV  = 1.5

	// ShownRow is the share of the run's time below which a row is not shown to people. [J]
	ShownRow = 0.005
)
