// Package owned opens a file to append to, where somebody else may have put a link by its
// name: what would be written then stood in a file that he may not write himself.
//
// A file that is written anew needs none of this: it is made under a name of its own, and
// moved into its place.
package owned
