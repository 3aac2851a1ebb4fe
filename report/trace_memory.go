package report

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"

	"github.com/stoker-dev/stoker/diagnose/memory"
	"github.com/stoker-dev/stoker/internal/stat"
)

// mostOwners is how many operators text names as holders of memory; JSON has all.
const mostOwners = 5

// farLarger is from how many times as large on nobody asks how many exactly.
const farLarger = 8

// memorySheet is the table of what lay in the judged device's memory when tensors took
// most of it.
func memorySheet(r TraceReport) sheet {
	u, known := usedMemory(r)
	if !known {
		return sheet{}
	}
	peak := fmt.Sprintf("tensors took %s at most, %s into the trace", stoker.AboutBytes(float64(u.Peak)), span(u.At))
	s := sheet{
		Title: "memory", About: " of the judged window: " + peak + "; of that", Says: "In the judged window " + peak + ". Of that:",
		Rows: [][]string{{"allocated", "bytes", "share"}}, Align: "lrr",
	}
	row := func(word string, bytes int64) {
		s.Rows = append(s.Rows, []string{word, stoker.AboutBytes(float64(bytes)), stoker.Percent(float64(bytes) / float64(max(1, u.Peak)))})
	}
	for kind, bytes := range u.Kinds {
		if bytes > 0 {
			row(memory.Kind(kind).String(), bytes)
		}
	}
	for _, o := range u.Owners[:min(mostOwners, len(u.Owners))] {
		row(fmt.Sprintf("  %s, %s", cut(ownerName(r, o), mostName), stoker.Many(o.Count, "time")), o.Bytes)
	}
	if !math.IsNaN(u.Fits) {
		times := fmt.Sprintf("about %.1f", u.Fits)
		if u.Fits >= farLarger {
			times = fmt.Sprintf("more than %d", farLarger)
		}
		s.Lines = []string{fmt.Sprintf("a batch %s times as large fits, if all that a step allocates grows with it", times)}
	}
	return s
}

// memory says what lay in the judged device's memory, and how that went over the window.
func (p *page) memory(r TraceReport) {
	u, known := usedMemory(r)
	if !known {
		return
	}
	s := memorySheet(r)
	p.listed(s)
	curve := ""
	for _, bytes := range u.Curve {
		curve += level(float64(bytes) / float64(max(1, u.Peak)))
	}
	fmt.Fprintf(&p.b, "  over the window  %s\n", curve)
	for _, line := range s.Lines {
		p.wrapped("  ", "  ", line)
	}
	p.b.WriteString("\n")
}

// level draws a share of a row's height; a dot where nothing is known.
func level(share float64) string {
	if share < 0 {
		return "·"
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	return string(levels[max(0, min(len(levels)-1, int(share*float64(len(levels)))))])
}

func usedMemory(r TraceReport) (memory.Use, bool) {
	d := r.Device()
	if d == nil {
		return memory.Use{}, false
	}
	return memory.Of(r.Run, d)
}

func ownerName(r TraceReport, o memory.Owner) string {
	if o.Name < 0 {
		return "(outside of any operator)"
	}
	return r.name(o.Name)
}

type jsonMemory struct {
	Peak   int64            `json:"peak_bytes"`
	At     float64          `json:"at_s"`
	Kinds  map[string]int64 `json:"peak_by"` // when and for what it was allocated
	Owners []jsonOwner      `json:"operators"`
	Curve  []*float64       `json:"over_the_window_bytes"` // the most in equal parts of the judged window; null before anything is known
	Fits   *float64         `json:"batch_fits_times"`
}

type jsonOwner struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Count int    `json:"allocations"`
}

// memoryJSON is null where no allocator's event was recorded.
func memoryJSON(r TraceReport) *jsonMemory {
	u, known := usedMemory(r)
	if !known {
		return nil
	}
	o := &jsonMemory{Peak: u.Peak, At: asSeconds(u.At), Kinds: map[string]int64{}, Owners: []jsonOwner{}, Fits: stat.Known(u.Fits)}
	for kind, bytes := range u.Kinds {
		o.Kinds[memory.Kind(kind).String()] = bytes
	}
	for _, owner := range u.Owners {
		o.Owners = append(o.Owners, jsonOwner{ownerName(r, owner), owner.Bytes, owner.Count})
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
