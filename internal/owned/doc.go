// Package owned opens a file to append to in a folder in which another user may have made a
// link of that name. Following the link would write to a file that the other user cannot write.
//
// A file that is replaced does not need this package: it is created under a temporary name and
// renamed.
package owned
