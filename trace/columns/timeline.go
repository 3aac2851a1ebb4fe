package columns

import (
	"math"
	"strings"
	"unicode"

	"github.com/stoker-dev/stoker/recording"
)

// MoveToZero moves the columns so that the first event is at t = 0, and returns where that
// is on the file's clock. The Timeline ends with the last event.
func MoveToZero(t *recording.Timeline) int64 {
	base := int64(math.MaxInt64)
	for _, starts := range [][]int64{t.Host.Start, t.Device.Start, t.Frames.Start} {
		if len(starts) > 0 {
			base = min(base, starts[0])
		}
	}
	if base == math.MaxInt64 {
		return 0
	}
	for _, column := range [][]int64{
		t.Host.Start, t.Host.End, t.Device.Start, t.Device.End, t.Frames.Start, t.Frames.End,
	} {
		for i := range column {
			column[i] -= base
			t.End = max(t.End, column[i])
		}
	}
	return base
}

// ComputePerSM computes the blocks per multiprocessor of each kernel, as PyTorch's profiler does.
func ComputePerSM(t *recording.Timeline, gpus []recording.GPU) {
	for i, blocks := range t.Device.Blocks {
		if at := t.Devices[t.Device.Device[i]].GPU; at >= 0 && blocks > 0 && gpus[at].SMs > 0 {
			t.Device.PerSM[i] = float32(blocks) / float32(gpus[at].SMs)
		}
	}
}

// CleanText is a foreign text that is fit for a sentence: one line, of at most most
// characters, without what would move a terminal's cursor.
func CleanText[T string | []byte](text T, most int) string {
	var out []rune
	for _, c := range string(text) {
		if unicode.IsSpace(c) || !unicode.IsPrint(c) {
			c = ' '
		}
		if c == ' ' && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		if len(out) == most {
			return string(out) + "…"
		}
		out = append(out, c)
	}
	return strings.TrimSpace(string(out))
}
