// Package live fills a Case from the signals of a job: the hook, the device's meters and
// the kernel's counters. FillCase is the door; fill.go says in which order quantities are
// measured, standing.go lists the findings with the class.
package live
