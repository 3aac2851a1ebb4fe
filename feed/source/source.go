// Package source lists a data set and reads its samples' bytes.
package source
