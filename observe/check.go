package observe

// Check is one thing that observing looks at, and whether it can be seen here.
type Check struct {
	What   string
	Seen   bool
	Needed bool   // without it some verdicts cannot be given; else something stands in for it
	Text   string // what was found, or why nothing was and what is lost with it
	Help   string // a line to paste, or what to ask for; "" if nothing helps
}
