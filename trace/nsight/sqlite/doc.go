// Package sqlite reads the rows of tables in SQLite 3 files, and nothing else: no
// SQL, no indices, no writing, no second file beside the first.
//
// Nsight Systems exports plain tables without indices, of which we want a few
// columns in file order. For that the file format
// (https://www.sqlite.org/fileformat2.html) asks for three things: a walk over a
// tree of pages, records, and the names of columns from CREATE TABLE. What is not
// here cannot go wrong: views, triggers, virtual tables and expressions of a
// stranger's file are text that nobody runs; there is no journal to replay, no lock
// to take, and nothing is written next to the user's file. Every page is read
// through an io.ReaderAt into Go's memory, with bounds checked.
//
// Damage is part of the contract: a page that cannot be right is left out and
// counted, and the walk goes on behind it.
package sqlite
