// Package traced fills a Case from a profiler's timeline: package idle charges each gap of
// the judged device to a cause, and FillCase turns them into quantities and findings.
package traced
