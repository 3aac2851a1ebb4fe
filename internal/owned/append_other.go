//go:build !unix

package owned

import "os"

// Append opens a file for reading and appending, and creates it if it does not exist.
func Append(path string, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, mode)
}
