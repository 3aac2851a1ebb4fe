// Package tune closes the loop: it observes a command, applies what advise proposes
// and the hook can set, runs it again, and keeps only what helped.
//
// What is decided (what to try next, whether to keep it, when a run has lasted long
// enough, what a plan may do) is in pure functions: decide.go, enough.go, plan.go.
// Processes are started and ended in run_linux.go alone. It applies nothing by itself:
// python/hook/apply.py does, in CMD, as a Plan says; and it measures nothing: that is
// verify's.
package tune
