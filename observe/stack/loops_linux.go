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
	lines       []int // without a name, that are in no block further in
}

// blocks are those around a line, outermost first.
type blocks []block

// add goes on to the next line, number n. unnamed says that it has no name in calls.
func (b blocks) add(text string, n int, unnamed bool, found map[int]string) blocks {
	text, _, _ = strings.Cut(text, " #")
	text = strings.TrimRight(text, " \t\r")
	code := strings.TrimLeft(text, " \t")
	if code == "" || code[0] == '#' {
		return b
	}
	indent := len(text) - len(code)             // Python asks for the same characters in each line of a block
	if strings.IndexByte(")]}", code[0]) >= 0 { // it ends a head of several lines
		indent++
	}
	b = b.close(indent, found)
	if overBatches.MatchString(code) && !loopHead.MatchString(code) && len(b) > 0 {
		b[len(b)-1].overBatches = true
	}
	switch {
	case loopHead.MatchString(code):
		b = append(b, block{indent: indent, loop: true, overBatches: overBatches.MatchString(code)})
	case functionHead.MatchString(code):
		b = append(b, block{indent: indent})
	case unnamed && comprehension.MatchString(code):
		found[n] = inLoop
		return b
	}
	if last := len(b) - 1; unnamed && last >= 0 && b[last].loop {
		b[last].lines = append(b[last].lines, n)
	}
	return b
}

// close ends the blocks that a line of an indent is not in, and names their lines. What is around a loop over batches
// is one as well.
func (b blocks) close(indent int, found map[int]string) blocks {
	for len(b) > 0 && b[len(b)-1].indent >= indent {
		last := b[len(b)-1]
		b = b[:len(b)-1]
		switch {
		case !last.loop:
		case !last.overBatches:
			for _, n := range last.lines {
				found[n] = inLoop
			}
		case len(b) > 0:
			b[len(b)-1].overBatches = true
		}
	}
	return b
}
