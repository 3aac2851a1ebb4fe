// Package readable opens a file of any kind for reading. Opening a named pipe that has no
// writer does not block for ever, and a pipe with a writer is read as data arrive, so that
// <(zcat FILE) can be used as a file.
//
// The caller decides how to interpret the content and how much of it to read.
package readable
