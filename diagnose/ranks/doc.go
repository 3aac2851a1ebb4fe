// Package ranks compares the ranks of one run: what each one's device did, which
// rank the others wait for, and how far their clocks are apart.
//
// A collective ends on all ranks together, and begins on each when its device
// gets there. So the ends tell how clocks differ, and on a common clock the
// beginnings tell who came last:
//
//	rank 0  ──█████ waiting ████▒▒▒|      ▒ the exchange itself
//	rank 1  ───────────────██▒▒▒▒|      rank 1 came last, rank 0 waited for it
//	                             └ the end, on both
//
// It reads the Timeline and judges nothing but who is last.
package ranks
