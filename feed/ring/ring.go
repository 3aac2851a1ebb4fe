// Package ring is the shared memory that batches are handed over in.
package ring
