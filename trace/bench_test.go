package trace

import (
	"context"
	"os"
	"testing"
)

// BenchmarkRead reads the file that STOKER_TRACE names, or a small one that the
// benchmark makes itself. For a long one: go run ./bench/trace.
func BenchmarkRead(b *testing.B) {
	file := os.Getenv("STOKER_TRACE")
	if file == "" {
		file = generated(b, 40)
	}
	bytes := int64(0)
	for b.Loop() {
		done := int64(0)
		_, err := Read(context.Background(), []string{file}, Options{Progress: func(n, _ int64) { done = n }})
		if err != nil {
			b.Fatal(err)
		}
		bytes = done
	}
	b.SetBytes(bytes)
}
