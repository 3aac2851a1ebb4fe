package trace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Ranks of one run record the same steps at the same time. Files whose times lie
// further apart than this belong to different runs; clocks of machines differ by
// far less.
const mostApart = 600e9 // ns

// combine makes one Run of the files of all ranks.
func combine(parts []part) (*recording.Run, error) {
	run := &recording.Run{}
	if len(parts) == 1 {
		p := parts[0]
		run.Facts, run.Timeline, run.Steps, run.Warnings = p.Facts, p.Timeline, p.Steps, p.Warnings
		run.Series = p.Series
		return run, nil
	}
	if err := numberRanks(parts); err != nil {
		return nil, err
	}
	if err := oneRun(parts); err != nil {
		return nil, err
	}
	if err := checkOneRun(parts); err != nil {
		return nil, err
	}
	separate(parts, run)
	zero := parts[0].Zero
	for _, p := range parts {
		zero = min(zero, p.Zero)
	}
	run.Facts = parts[0].Facts
	run.Facts.GPUs, run.Facts.Processes, run.Facts.Loaders, run.Facts.Damage = nil, nil, nil, nil
	if run.Facts.Started != 0 {
		run.Facts.Started = float64(zero) / 1e9
	}
	j := &joiner{t: &recording.Timeline{}, names: map[string]int32{}}
	j.reserve(parts)
	for i := range parts {
		j.addPart(run, &parts[i], parts[i].Zero-zero)
		parts[i].Timeline = nil // its memory is needed
	}
	j.sortRows()
	run.Timeline = j.t
	slices.SortStableFunc(run.Steps, func(a, b recording.Step) int { return cmp.Compare(a.Start, b.Start) })
	return run, nil
}

// numberRanks gives a rank to every part: from its content, else its name, else
// the first that is free.
func numberRanks(parts []part) error {
	seen := map[int]string{}
	for i := range parts {
		p := &parts[i]
		if !p.tellRank() {
			continue
		}
		if other, again := seen[p.Rank]; again {
			return &mixedError{
				[]string{other, p.file},
				fmt.Sprintf("%s and %s are both of rank %d", other, p.file, p.Rank),
				"give one file per rank, of the same steps",
			}
		}
		seen[p.Rank] = p.file
	}
	free := 0
	for i := range parts {
		p := &parts[i]
		if !p.told {
			for seen[free] != "" {
				free++
			}
			p.Rank, seen[free] = free, p.file
			p.Warnings = append(p.Warnings,
				fmt.Sprintf("Neither the content nor the name of %s tells its rank: it is taken as rank %d.",
					filepath.Base(p.file), free))
		}
		p.setRank()
	}
	return nil
}

// oneRun refuses files that contradict each other.
func oneRun(parts []part) error {
	a := &parts[0]
	for i := range parts {
		b := &parts[i]
		pair := []string{a.file, b.file}
		switch {
		case a.World > 0 && b.World > 0 && a.World != b.World:
			return &mixedError{
				pair,
				fmt.Sprintf("%s is of a run with %d ranks, %s of one with %d", a.file, a.World, b.file, b.World),
				"give the files of one run",
			}
		case b.World > 0 && b.Rank >= b.World:
			return &mixedError{
				pair, fmt.Sprintf("%s is of rank %d in a run of %d ranks", b.file, b.Rank, b.World),
				"give the files of one run",
			}
		case timeApart(a, b) > mostApart:
			return &mixedError{
				pair,
				fmt.Sprintf("%s and %s were recorded %s apart", a.file, b.file, longTime(timeApart(a, b))),
				"give the files of one run, of the same steps",
			}
		}
	}
	return nil
}

// longTime prints nanoseconds of minutes and more.
func longTime(ns float64) string {
	switch minutes := ns / 60e9; {
	case minutes < 120:
		return fmt.Sprintf("%.0f minutes", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%.0f hours", minutes/60)
	default:
		return fmt.Sprintf("%.0f days", minutes/(24*60))
	}
}

// processStride moves the numbers of processes that several ranks share, as
// containers number them from 1.
const processStride = 10_000_000

// separate gives every rank separate process numbers.
func separate(parts []part, run *recording.Run) {
	owner := map[int]int{}
	var moved []string
	for i := range parts {
		p := &parts[i]
		clash := false
		for pid := range p.processIDs() {
			if other, found := owner[pid]; found && other != p.Rank {
				clash = true
			}
		}
		if clash {
			p.shiftProcesses(processStride * (p.Rank + 1))
			moved = append(moved, strconv.Itoa(p.Rank))
		}
		for pid := range p.processIDs() {
			owner[pid] = p.Rank
		}
	}
	if n := len(moved); n > 0 {
		which := fmt.Sprintf("%d ranks", n)
		if n <= mostNamed {
			which = "rank " + strings.Join(moved, ", ")
		}
		run.Warnings = append(run.Warnings,
			fmt.Sprintf("Process numbers of %s also occur in other ranks: %d times the rank's number and one was "+
				"added to them.", which, processStride))
	}
}

// mostNamed are the ranks that a sentence names.
const mostNamed = 8
