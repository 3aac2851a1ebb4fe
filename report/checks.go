package report

// Check says whether observing can see something that it needs.
type Check struct {
	What   string `json:"what"`
	Seen   bool   `json:"seen"`
	Needed bool   `json:"needed"` // some verdicts are impossible without it
	Text   string `json:"text"`
	Help   string `json:"help"` // "" if nothing helps
}

// KernelGroup is a part of the feed that also exists in assembly.
type KernelGroup struct {
	Name     string   `json:"name"`
	Package  string   `json:"package"`
	Routines []string `json:"routines"`
	Needs    []string `json:"needs"` // instruction sets
	Lacks    []string `json:"lacks"` // those that this processor lacks
	Runs     bool     `json:"runs"`  // if false, Go code computes the same bytes
}
