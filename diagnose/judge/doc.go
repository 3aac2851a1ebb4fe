// Package judge is the door of diagnose: Judge turns a recording into a Verdict, with the
// evidence, the questions that were asked and their answers. It chooses who fills the
// Case, has the rules ask it, and concludes. Merge joins a run's verdict with that of a
// trace of it, Together judges the recordings of one job's ranks and nodes.
package judge
