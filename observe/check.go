package observe

// Check is one thing that observe samples, and whether it can be seen here.
type Check struct {
	What   string
	Seen   bool
	Needed bool   // without it some verdicts cannot be given; else something replaces it
	Text   string // the finding, or why nothing was found and what is lost with it
	Help   string // a line to paste, or what to ask for; "" if nothing helps
}
