// Package readable opens a file to read that may be anything: a named pipe to which
// nobody writes does not keep us waiting, and one that somebody writes to is read as he
// writes, so that <(zcat FILE) may stand for a file.
//
// What is in the file, and how much of it is read, is the reader's to decide.
package readable
