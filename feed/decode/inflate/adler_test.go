package inflate

import (
	"bytes"
	"hash/adler32"
	"math/rand/v2"
	"testing"
)

// TestUnpackChecksum: with the kernel it is the standard library's, for the greatest sums too.
func TestUnpackChecksum(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 15))
	for i := range 400 {
		data := make([]byte, i)
		if i > 200 {
			data = bytes.Repeat([]byte{255}, r.IntN(200_000))
		}
		if i%2 == 0 {
			for k := range data {
				data[k] = byte(r.Uint32())
			}
		}
		if got, want := checksum(data), adler32.Checksum(data); got != want {
			t.Fatalf("%d bytes: %x, want %x", len(data), got, want)
		}
	}
}
