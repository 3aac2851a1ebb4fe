//go:build !unix

package owned

import "os"

// Append opens a file to read and to append to, and makes it where it is missing.
func Append(path string, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, mode)
}
