// Package diagnose holds the nouns of a judgement: a Class names what limits a run, a
// Verdict is the answer for one run, a Finding is shown with the class, and a Case is what
// the rules ask. Each room around it imports these nouns:
//
//	judge    the door: a recording in, a Verdict out
//	rules    the ailments: a rule sees a Case and nothing else
//	live     fills a Case from the signals of a live job
//	ledger   accounts for the time of the whole run
//	traced   fills a Case from a profiler's timeline
//
// The door is a separate package, as it needs the rules and both fillers,
// and all of them need the nouns.
//
// Nothing here measures or prints. predict gives the costs; advise, verify and report
// use the Verdict.
package diagnose
