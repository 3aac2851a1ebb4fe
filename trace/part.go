package trace

import (
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stoker-dev/stoker/trace/kineto"
)

// part is one rank's file.
type part struct {
	file string
	*kineto.Trace
	told bool // the file's content or its name tells the rank
}

var (
	rankInName = regexp.MustCompile(`(?i)rank[-_=]?(\d{1,6})`)
	rankFolder = regexp.MustCompile(`(?i)^rank[-_=]?(\d{1,6})$`)
)

// tellRank reports whether a file's content, its name or its folder's tells its rank, and takes that.
func (p *part) tellRank() bool {
	m := rankInName.FindStringSubmatch(filepath.Base(p.file))
	if m == nil {
		m = rankFolder.FindStringSubmatch(filepath.Base(filepath.Dir(p.file)))
	}
	if p.Rank < 0 && m != nil {
		p.Rank, _ = strconv.Atoi(m[1])
	}
	p.told = p.told || p.Rank >= 0
	return p.told
}

func (p *part) setRank() {
	for i := range p.Timeline.Threads {
		p.Timeline.Threads[i].Rank = p.Rank
	}
	for i := range p.Timeline.Devices {
		p.Timeline.Devices[i].Rank = p.Rank
	}
	for i := range p.Facts.Processes {
		p.Facts.Processes[i].Rank = p.Rank
	}
	for i := range p.Steps {
		p.Steps[i].Rank = p.Rank
	}
}

// timeApart is how long after one file's end the other one begins, ns.
func timeApart(a, b *part) float64 {
	x, y := float64(a.Zero), float64(b.Zero)
	return max(y-(x+float64(a.Timeline.End)), x-(y+float64(b.Timeline.End)), 0)
}

func (p *part) processIDs() map[int]bool {
	out := map[int]bool{}
	for _, t := range p.Timeline.Threads {
		out[t.PID] = true
	}
	for _, d := range p.Timeline.Devices {
		out[d.PID] = true
	}
	for _, q := range p.Facts.Processes {
		out[q.PID] = true
	}
	return out
}

func (p *part) shiftProcesses(by int) {
	for i := range p.Timeline.Threads {
		p.Timeline.Threads[i].PID += by
	}
	for i := range p.Timeline.Devices {
		p.Timeline.Devices[i].PID += by
	}
	for i := range p.Facts.Processes {
		p.Facts.Processes[i].PID += by
	}
	for i := range p.Facts.Loaders {
		p.Facts.Loaders[i].PID += by
	}
	for i := range p.Steps {
		p.Steps[i].PID += by
	}
}
