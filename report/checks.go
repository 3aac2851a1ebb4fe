package report

// Check is a thing that observing looks at, and whether it can be seen.
type Check struct {
	What   string `json:"what"`
	Seen   bool   `json:"seen"`
	Needed bool   `json:"needed"` // without it some verdicts cannot be given
	Text   string `json:"text"`
	Help   string `json:"help"` // "" where nothing helps
}

// KernelGroup is a part of the feed that is written in assembly as well.
type KernelGroup struct {
	Name     string   `json:"name"`
	Package  string   `json:"package"`
	Routines []string `json:"routines"`
	Needs    []string `json:"needs"` // instruction sets
	Lacks    []string `json:"lacks"` // those that this processor does not have
	Runs     bool     `json:"runs"`  // otherwise plain Go makes the same bytes
}
