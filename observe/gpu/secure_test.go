package gpu

import (
	"encoding/binary"
	"strconv"
	"testing"
)

func TestAtSecure(t *testing.T) {
	vector := func(words ...uint64) (b []byte) {
		for _, w := range words {
			if strconv.IntSize == 32 {
				b = binary.NativeEndian.AppendUint32(b, uint32(w))
			} else {
				b = binary.NativeEndian.AppendUint64(b, w)
			}
		}
		return b
	}
	for name, test := range map[string]struct {
		vector []byte
		want   bool
	}{
		"ordinary":  {vector(6, 4096, 23, 0, 0, 0), false},
		"secure":    {vector(6, 4096, 23, 1, 0, 0), true},
		"not said":  {vector(6, 4096, 0, 0, 23, 0), true},
		"empty":     {nil, true},
		"truncated": {vector(6, 4096, 23), true},
	} {
		if got := atSecure(test.vector); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
