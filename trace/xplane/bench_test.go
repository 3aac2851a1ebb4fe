package xplane

import "testing"

// BenchmarkRead reads a loop of 20,000 steps: two passes, links, steps.
func BenchmarkRead(b *testing.B) {
	data := tfStep(20_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
