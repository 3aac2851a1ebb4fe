package text

import (
	"fmt"
	"slices"
	"strings"
)

// mostLines is the greatest length of a page that does not show everything.
const mostLines = 40

// rank is the order in which items are shown if a page has not room for all: the least first.
type rank int

// The ranks.
const (
	always rank = iota
	important
	useful
	detail
	onlyAll // with --all
)

// item is a part of a page that is shown completely or not at all.
type item struct {
	rank  rank
	write func(*page)
}

// section is a part of a page with its title; "" for none.
type section struct {
	title string
	items []item
}

// add adds an item.
func (s *section) add(r rank, write func(*page)) { s.items = append(s.items, item{r, write}) }

// list adds lines as items of a list: the first ones at a rank, the others with --all.
func (s *section) list(r rank, most int, lines []string) {
	for i, line := range lines {
		at := r
		if i >= most {
			at = onlyAll
		}
		s.add(at, func(p *page) { p.printWrapped("  - ", "    ", line) })
	}
}

// show writes the most important items of sections, so that the page has at most mostLines
// lines, or everything if requested. whole is the command that prints everything.
func (p *page) show(sections []section, whole string) {
	chosen := p.choose(sections)
	left := 0
	for i, s := range sections {
		inner := &page{style: p.style, terms: p.terms}
		for j, it := range s.items {
			if chosen[[2]int{i, j}] {
				it.write(inner)
			} else {
				left++
			}
		}
		p.terms = inner.terms
		text := strings.TrimRight(inner.b.String(), "\n")
		if text == "" {
			continue
		}
		p.b.WriteString("\n")
		if s.title != "" {
			p.b.WriteString(p.bold(s.title) + "\n")
		}
		p.b.WriteString(text + "\n")
	}
	if left > 0 && whole != "" {
		p.b.WriteString("\n" + p.paint("2", "more: "+whole) + "\n")
	}
}

// choose returns the items that fit, by section and index.
func (p *page) choose(sections []section) map[[2]int]bool {
	chosen := map[[2]int]bool{}
	const aboutRest = 2 // lines: the last one, and an empty one before it
	room, left := mostLines-strings.Count(p.b.String(), "\n")-aboutRest, 0
	begun := map[int]bool{}
	for r := always; r <= onlyAll; r++ {
		for i, s := range sections {
			for j, it := range s.items {
				if it.rank != r {
					continue
				}
				if p.style.All {
					chosen[[2]int{i, j}] = true
					continue
				}
				needs := p.linesOf(it)
				if !begun[i] {
					needs++
					if s.title != "" {
						needs++
					}
				}
				if r < onlyAll && needs <= room {
					chosen[[2]int{i, j}], begun[i] = true, true
					room -= needs
				} else {
					left += needs
				}
			}
		}
	}
	if left <= aboutRest { // the line about the rest would be as long
		for i, s := range sections {
			for j := range s.items {
				chosen[[2]int{i, j}] = true
			}
		}
	}
	return chosen
}

// linesOf returns the greatest number of lines that an item takes: with each of its terms
// explained.
func (p *page) linesOf(it item) int {
	alone := &page{style: p.style, terms: slices.Clone(terms)}
	it.write(alone)
	return strings.Count(alone.b.String(), "\n")
}

// term is a word that is explained at its first use on a page.
type term struct{ word, means string }

// terms lists words that not every reader of a verdict knows.
var terms = []term{
	{"launching thread", "the thread of the program that gives the GPU its work"},
	{"provisional", "a final verdict needs 30 s of steady steps"},
	{"page-locked memory", "the GPU reads such memory by itself"},
	{"page cache", "memory that keeps files which were read"},
	{"collectives", "exchanges between GPUs"},
	{"not validated", "no pair of runs was held against such a forecast"},
	{"GPU-Util", "the share of time in which any kernel ran or data were copied"},
	{"CUDA graphs", "many launches recorded as one"},
	{"cgroup", "what limits a container"},
	{"straggler", "the rank that the others wait for"},
}

// explainText adds an explanation to each term that the page has not explained yet.
func (p *page) explainText(text string) string {
	for i := 0; i < len(p.terms); i++ {
		t := p.terms[i]
		at := strings.Index(text, t.word)
		if at < 0 {
			continue
		}
		end := at + len(t.word)
		p.terms = slices.Delete(slices.Clone(p.terms), i, i+1)
		i--
		if rest := text[end:]; rest == "" || strings.ContainsRune(" ,.:", rune(rest[0])) &&
			!strings.HasPrefix(rest, " (") {
			text = fmt.Sprintf("%s (%s)%s", text[:end], t.means, rest)
		}
	}
	return text
}
