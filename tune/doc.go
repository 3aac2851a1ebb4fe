// Package tune closes the loop: it observes a command, applies the advice that the hook can
// set, runs the command again, and keeps only what helped.
//
// Decisions are pure functions: what to try next and whether to keep it (decide.go), when a run
// has lasted long enough (enough.go), and what a plan may do (plan.go). Only run_linux.go
// starts and ends processes. The package applies no setting itself: python/hook/apply.py does
// that in CMD as a Plan says. It measures nothing either: verify does.
package tune
