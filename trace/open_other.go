//go:build !unix

package trace

import "os"

// openFile opens a file to read.
func openFile(file string) (*os.File, error) { return os.Open(file) }
