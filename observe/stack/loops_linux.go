package stack

import (
	"regexp"
	"strings"
)

// inLoop is the name of what a line does that has none in calls, and is in a loop over elements: a loop or a
// comprehension of Python that neither trains nor goes over batches.
const inLoop = "loop"

var (
	loopHead      = regexp.MustCompile(`^(?:async\s+)?for\s.*\sin\b.*[:(\[,\\]\s*$|^while\b.*[:(\[,\\]\s*$`)
	functionHead  = regexp.MustCompile(`^(?:async\s+)?def\s|^class\s`)
	comprehension = regexp.MustCompile(`[(\[{].*\sfor\s.*\sin\s`)
	// overBatches is what a loop has that trains, evaluates or makes batches, and not elements of one. [J]
	overBatches = regexp.MustCompile(`(?i)\.backward\(|\.step\(|\.zero_grad\(|\byield\b|\b\w*(?:train|fit|loss|forward|optimi[sz]e)\w*\(|\b(?:self\.)?model\(|` +
		`^(?:async\s+)?for\s.*\b\w*(?:loader|batches|epoch|steps?|iter(?:ation)?s?)\b|^while\b.*\b(?:step|epoch)`)
)

// block is a loop or a function, by the text of a program's file.
type block struct {
	indent      int
	loop        bool
	overBatches bool
	lines       []int // that are in no block further in
}

// findLoops returns the numbers of the lines that are in a loop over elements.
func findLoops(lines []string) map[int]bool {
	found := map[int]bool{}
	var around []block
	for i, text := range lines {
		text, _, _ = strings.Cut(text, " #")
		text = strings.TrimRight(text, " \t\r")
		code := strings.TrimLeft(text, " \t")
		if code == "" || code[0] == '#' {
			continue
		}
		indent := len(text) - len(code)             // Python asks for the same characters in each line of a block
		if strings.IndexByte(")]}", code[0]) >= 0 { // it ends a head of several lines
			indent++
		}
		around = closeBlocks(around, indent, found)
		head := strings.IndexByte("acdfw", code[0]) >= 0 // async, class, def, for, while
		loop := head && loopHead.MatchString(code)
		if loop || head && functionHead.MatchString(code) {
			around = append(around, block{indent: indent, loop: loop})
		}
		if last := len(around) - 1; last >= 0 && around[last].loop {
			around[last].lines = append(around[last].lines, i+1)
			around[last].overBatches = around[last].overBatches || overBatches.MatchString(code)
		}
	}
	closeBlocks(around, 0, found)
	return found
}

// closeBlocks returns the blocks that a line of an indent is in, and takes in the lines of those that end. What is
// around a loop over batches is one as well.
func closeBlocks(around []block, indent int, found map[int]bool) []block {
	for len(around) > 0 && around[len(around)-1].indent >= indent {
		last := around[len(around)-1]
		around = around[:len(around)-1]
		switch {
		case !last.loop:
		case !last.overBatches:
			for _, n := range last.lines {
				found[n] = true
			}
		case len(around) > 0:
			around[len(around)-1].overBatches = true
		}
	}
	return around
}
