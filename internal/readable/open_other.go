//go:build !unix

package readable

import "os"

// Open opens a file for reading.
func Open(file string) (*os.File, error) { return os.Open(file) }
