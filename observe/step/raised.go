package step

import (
	"cmp"
	"path"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// Raised is an exception that ended a process.
type Raised struct {
	recording.Exception
	At     int64 // CLOCK_MONOTONIC, ns
	Trains bool  // the process has a loader or made steps
}

// addRaised keeps what ended a process; of very many the last ones.
func (in *Intake) addRaised(pid int, r *hookRecord) {
	if r.Type == "" {
		return
	}
	p := in.procs[pid]
	e := recording.Exception{PID: pid, Type: r.Type, About: r.About, File: r.File, Line: max(0, r.Line)}
	in.raised = append(in.raised, Raised{e, r.T, p != nil && p.Loads})
	in.raised = in.raised[max(0, len(in.raised)-maxNotes):]
}

// passesOn are exceptions by which a launcher says that its program has failed.
var passesOn = []string{"ChildFailedError", "CalledProcessError", "ProcessExitedException", "ProcessRaisedException"}

// FindCause returns the exception that ended a command, whose first process is root. It is the
// root's own, or that of a process that root started and whose failure root only passes on. Of
// several ranks the first to fail counts, because its failure makes the others fail. It returns
// nil if no exception was seen.
func (in *Intake) FindCause(root int) *recording.Exception {
	all := slices.Clone(in.raised)
	slices.SortStableFunc(all, func(a, b Raised) int { return cmp.Compare(a.At, b.At) })
	var own, child *recording.Exception
	trains := false
	for i := range all {
		e := &all[i]
		switch {
		case e.PID == root:
			own = &e.Exception
		case child == nil, !trains: // of those that train the first, else the last
			child, trains = &e.Exception, e.Trains
		}
	}
	if own != nil && (child == nil || !slices.Contains(passesOn, path.Ext("." + own.Type)[1:])) {
		return own
	}
	return child
}
