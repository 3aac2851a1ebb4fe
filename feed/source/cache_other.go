//go:build !unix

package source

// isOurs cannot be told here.
func isOurs(string) error { return nil }
