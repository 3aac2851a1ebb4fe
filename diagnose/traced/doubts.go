package traced

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// listDoubts are why the figures of a trace may not be the program's, what a reader must know
// before any of them.
func (t *filler) listDoubts(run *recording.Run, leftOut string) []string {
	out := slices.Clone(run.Facts.Damage)
	for _, text := range []string{
		leftOut, cmp.Or(t.describeMissingRanks(run), t.describeAlone(run)), t.describeUnlinked(), t.describeRecorder(),
		t.describeCutEnd(),
		t.describeStrays(), t.describeOneStep(),
	} {
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// describeUnlinked says that the file does not tell what the device waited for.
func (t *filler) describeUnlinked() string {
	if !t.hidesHost() {
		return ""
	}
	return fmt.Sprintf("%s of the window passes before work that the file links to no launch: what the device waited "+
		"for then is not known", quantity.Percent(t.d.Share(t.d.Causes[idle.Unlinked])))
}

// A file whose device work ends before its launches do lacks that of its last ones: so large a part of them, and of
// those behind the first of the last so many. [J]
const (
	cutLaunches = 0.2
	nearlyNone  = 0.95

	manyLaunches = 20 // fewer may have failed
)

// describeCutEnd says that the last launches have no work in a file that links work to launches: its end is cut off.
func (t *filler) describeCutEnd() string {
	h, w := &t.t.Host, &t.t.Device
	if slices.ContainsFunc(t.t.Names, func(name string) bool {
		return strings.Contains(name, "StreamBeginCapture") || strings.Contains(name, "Graph")
	}) {
		return "" // what is captured is launched later
	}
	has, linked := make([]bool, len(h.Start)), 0
	for _, call := range w.Call {
		if call >= 0 {
			has[call], linked = true, linked+1
		}
	}
	if float64(linked) < nearlyNone*float64(len(w.Call)) {
		return ""
	}
	var launches []int
	first, with := -1, 0
	for i, kind := range h.Kind {
		if kind == recording.Runtime && t.all.Owns(t.d, h.Thread[i]) && recording.LaunchesWork(t.t.Names[h.Name[i]]) {
			launches = append(launches, i)
		}
	}
	for k := len(launches) - 1; k >= 0; k-- {
		if has[launches[k]] {
			if with++; float64(with) > (1-nearlyNone)*float64(len(launches)-k) {
				break
			}
			continue
		}
		first = k
	}
	lost := len(launches) - first
	if first < 0 || lost < manyLaunches || float64(lost) < cutLaunches*float64(len(launches)) {
		return ""
	}
	return fmt.Sprintf("the last %d of %d launches, from %s on, have no work in the file: its end was cut off, and the "+
		"device may have worked on", lost, len(launches), printMilli(h.Start[launches[first]]))
}

// straysMatter is the share of all kernels' time that strays add from which a reader has to know. [J]
const straysMatter = 0.05

// describeStrays says that a few kernels take far longer than the same ones of other steps.
func (t *filler) describeStrays() string {
	w, more, longest := &t.t.Device, int64(0), idle.Stray{Work: -1}
	length := func(s idle.Stray) int64 { return w.End[s.Work] - w.Start[s.Work] }
	for _, s := range t.kernels.Strays {
		more += length(s) - s.Usual
		if longest.Work < 0 || length(s) > length(longest) {
			longest = s
		}
	}
	if longest.Work < 0 || float64(more) < straysMatter*float64(more+t.kernels.Time) {
		return ""
	}
	n := len(t.kernels.Strays)
	return fmt.Sprintf("%d kernel%s far longer than at the same place of other steps (%s: %s, there %s): another "+
		"program held the device, or the recorded time is wrong. Shares of kernel time leave that out, the window does not", n,
		quantity.Ending(n, " takes", "s take"), quote(t.t.Names[w.Name[longest.Work]]),
		quantity.AboutSeconds(toSeconds(length(longest))), quantity.AboutSeconds(toSeconds(longest.Usual)))
}

// leastExchange is the share of the window in collectives from which it matters that the files
// of other ranks are missing. [J] As for input.
const leastExchange = 0.03

// describeMissingRanks says which ranks of a run have no file here: the others may wait for one
// of them, and nothing here would show it.
func (t *filler) describeMissingRanks(run *recording.Run) string {
	seen := map[int]bool{}
	for _, p := range run.Facts.Processes {
		seen[p.Rank] = true
	}
	world := max(t.world, t.countGaps(seen))
	missing := missingRanks(seen, world)
	if len(missing) == 0 || len(seen) == 1 && t.parts.Exchange+t.d.Share(t.d.Opening) < leastExchange {
		return ""
	}
	which := fmt.Sprintf("rank%s %s of %d %s missing", quantity.Ending(len(missing), "", "s"), joinRanks(missing),
		world, quantity.Ending(len(missing), "is", "are"))
	if len(seen) == 1 {
		which = t.describeLoneRank()
	}
	return which + ": whether collectives take long or wait for a rank that is late is not known"
}

// describeAlone says that the others may wait for a rank whose file is alone, as it is idle for much of the time and
// exchanges little.
func (t *filler) describeAlone(run *recording.Run) string {
	if t.world < 2 || len(run.Facts.Processes) != 1 || t.d.Share(t.d.Idle) < diagnose.LaunchTrigger ||
		!slices.ContainsFunc(t.kernels.Totals, func(n idle.NameTotal) bool { return n.Family == idle.Exchange }) {
		return ""
	}
	return t.describeLoneRank() + ": whether they wait for this one, or idle as well, is not known"
}

// describeLoneRank says which rank the only file is of.
func (t *filler) describeLoneRank() string {
	return fmt.Sprintf("this is rank %d of %d, and the others' files are missing", t.judgedRank(), t.world)
}

// countGaps is the least number of ranks of a run whose files do not tell it, if the ranks of the files
// leave gaps and exchange with each other; 0 if fewer are there than are missing, as their numbers may
// count something else then.
func (t *filler) countGaps(seen map[int]bool) int {
	if t.world > 1 || len(seen) < 2 || t.parts.Exchange < leastExchange {
		return 0
	}
	last := slices.Max(slices.Collect(maps.Keys(seen)))
	if gaps := last + 1 - len(seen); gaps >= len(seen) {
		return 0
	}
	return last + 1
}

// missingRanks are the ranks of a run that were not seen.
func missingRanks(seen map[int]bool, world int) (missing []int) {
	for rank := range min(world, mostWorld) {
		if !seen[rank] {
			missing = append(missing, rank)
		}
	}
	return missing
}

// mostWorld bounds how many ranks are looked for: a file may claim any number.
const mostWorld = 1 << 16

// joinRanks names ranks in a sentence: "2, 5 to 7".
func joinRanks(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		part := strconv.Itoa(ranks[i])
		if j > i {
			part += " to " + strconv.Itoa(ranks[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	const most = 8 // in a sentence
	if len(parts) > most {
		return strings.Join(parts[:most], ", ") + " and more"
	}
	return strings.Join(parts, ", ")
}
