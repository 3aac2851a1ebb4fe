package rules

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
)

// Classes are those of all rules, kinds of io-bound and cluster-bound among them.
func Classes() (all []diagnose.Class) {
	for _, rule := range slices.Concat(rules, ioKinds, clusterKinds) {
		all = append(all, rule.Class)
	}
	return all
}

// AskWithout asks all rules but that of a class, which answers no.
func AskWithout(c *diagnose.Case, class diagnose.Class) Answers {
	for _, list := range [][]Rule{rules, ioKinds, clusterKinds} {
		for i := range list {
			if list[i].Class == class {
				kept := list[i].check
				list[i].check = func(*inquiry) float64 { return 0 }
				defer func() { list[i].check = kept }()
			}
		}
	}
	return AskAll(c)
}
