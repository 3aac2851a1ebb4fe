package transform

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestNumbersMatchTable writes pixels with the vector kernel, if it gives exactly the numbers
// of the table, and one by one.
func TestNumbersMatchTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pixels := make([]byte, 1003)
	for i := range pixels {
		pixels[i] = byte(rng.Uint32())
	}
	fused := 0
	for i := range 600 {
		var values [256]float32
		mean, std := rng.Float32(), 0.05+rng.Float32()
		if i%3 == 0 {
			mean, std = [...]float32{0.485, 0.456, 0.406, 0.5, 0}[i%5], [...]float32{0.229, 0.224, 0.225, 0.5, 1}[i%5]
		}
		for v := range values {
			x := float32(v) / 255
			if i%2 == 1 { // as to_dtype of torchvision's v2
				x = float32(float32(v) * (1.0 / 255))
			}
			if values[v] = (x - mean) / std; i%7 == 6 {
				values[v] += 0.001 * float32(v%3)
			}
		}
		for _, dtype := range []string{"float32", "float16", "bfloat16"} {
			n := NewNumbers(&values, dtype)
			if n.fused {
				fused++
			}
			part := pixels[rng.IntN(20):]
			var want []byte
			for _, v := range part {
				want = appendNumber(want, values[v], dtype)
			}
			got := make([]byte, len(want)+8)[rng.IntN(8):][:len(want)]
			if n.Write(got, part); !bytes.Equal(got, want) {
				t.Fatalf("mean %v, std %v as %s: other numbers than one by one", mean, std, dtype)
			}
		}
	}
	if canNormalize("float16") && fused < 1200 {
		t.Errorf("of 1800 tables %d are written by the vector kernel: too few", fused)
	}
}

func appendNumber(dst []byte, v float32, dtype string) []byte {
	switch dtype {
	case "float16":
		return binary.LittleEndian.AppendUint16(dst, float16(v))
	case "bfloat16":
		return binary.LittleEndian.AppendUint16(dst, bfloat16(v))
	}
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}
