// Package nsight reads what Nsight Systems exports to SQLite (nsys export --type
// sqlite) into the columns of a recording.Timeline, in the words that PyTorch's
// profiler uses for the same things, so that the same code judges both.
//
// It reads and links, and judges nothing. Schemas 3.16 to 3.25 were seen; a table
// is read by the columns that it has, a missing column becomes a sentence, and the
// meaning of numbers comes from the file's own ENUM tables if they are there.
//
// How a file flows through it:
//
//	tables ─► census: how many events, when ─► window: which of them fit in memory
//	                                              │
//	Trace ◄─ steps, facts ◄─ links, order ◄─ columns of the events in the window
//
// SQLite itself reads the file (modernc.org/sqlite, SQLite translated to Go): what
// it is allowed to do with a stranger's file is in database.go. Nsight's tables have
// no index and are walked over once, SQLite picking the rows in the window.
package nsight
