package wire

import (
	"github.com/stoker-dev/stoker/diagnose/memory"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/report"
)

type jsonMemory struct {
	Peak   int64            `json:"peak_bytes"`
	At     float64          `json:"at_s"`
	Kinds  map[string]int64 `json:"peak_by"` // when and for what it was allocated
	Owners []jsonOwner      `json:"operators"`
	// the greatest use in equal parts of the judged window; null before anything is known
	Curve []*float64 `json:"over_the_window_bytes"`
	Fits  *float64   `json:"batch_fits_times"`
}

type jsonOwner struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Count int    `json:"allocations"`
}

// memoryJSON returns nil if no event of an allocator was recorded.
func memoryJSON(r report.TraceReport) *jsonMemory {
	u, known := report.FindMemory(r)
	if !known {
		return nil
	}
	o := &jsonMemory{
		Peak: u.Peak, At: asSeconds(u.At), Kinds: map[string]int64{}, Owners: []jsonOwner{},
		Fits: stat.Known(u.Fits),
	}
	for kind, bytes := range u.Kinds {
		o.Kinds[memory.Kind(kind).String()] = bytes
	}
	for _, owner := range u.Owners {
		o.Owners = append(o.Owners, jsonOwner{report.NameOwner(r, owner), owner.Bytes, owner.Count})
	}
	for _, bytes := range u.Curve {
		if bytes < 0 {
			o.Curve = append(o.Curve, nil)
			continue
		}
		o.Curve = append(o.Curve, stat.Known(float64(bytes)))
	}
	return o
}
