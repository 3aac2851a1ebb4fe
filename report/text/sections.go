package text

import (
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
	title   string
	ordered bool // no item is shown without those of its rank before it, as of a numbered list
	items   []item
	rest    func(p *page, left []int) // names the items that have no room; nil if they need no name
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
		s.nameRest(inner, i, chosen)
		p.terms = inner.terms
		text := strings.TrimRight(inner.b.String(), "\n")
		if text == "" {
			continue
		}
		p.b.WriteString("\n")
		if s.title != "" {
			p.b.WriteString(p.makeBold(s.title) + "\n")
		}
		p.b.WriteString(text + "\n")
	}
	if left > 0 && whole != "" {
		p.b.WriteString("\n" + p.paint("2", "more: "+whole) + "\n")
	}
}

// nameRest writes the names of the items that are not shown.
func (s section) nameRest(p *page, number int, chosen map[[2]int]bool) {
	if s.rest == nil {
		return
	}
	var left []int
	for j := range s.items {
		if !chosen[[2]int{number, j}] {
			left = append(left, j)
		}
	}
	s.rest(p, left)
}

// choose returns the items that fit, by section and index, beside the names of those that do not.
func (p *page) choose(sections []section) map[[2]int]bool {
	chosen, names := p.fit(sections, 0), 0
	for { // a name takes room, which may cost another item its place
		lines := 0
		for i, s := range sections {
			alone := &page{style: p.style}
			if s.nameRest(alone, i, chosen); alone.b.Len() == 0 {
				continue
			}
			lines += strings.Count(alone.b.String(), "\n")
			if !slices.ContainsFunc(s.itemsOf(i), func(at [2]int) bool { return chosen[at] }) {
				lines += 2 // its title, and an empty line before it
			}
		}
		if lines <= names {
			return chosen
		}
		names = lines
		chosen = p.fit(sections, names)
	}
}

// itemsOf are the keys of a section's items.
func (s section) itemsOf(number int) (all [][2]int) {
	for j := range s.items {
		all = append(all, [2]int{number, j})
	}
	return all
}

// fit returns the items that fit if some lines are kept free.
func (p *page) fit(sections []section, free int) map[[2]int]bool {
	chosen := map[[2]int]bool{}
	const aboutRest = 2 // lines: the last one, and an empty one before it
	room, left := mostLines-strings.Count(p.b.String(), "\n")-aboutRest-free, 0
	begun := map[int]bool{}
	for r := always; r <= onlyAll; r++ {
		for i, s := range sections {
			broken := false
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
				if r < onlyAll && needs <= room && !broken {
					chosen[[2]int{i, j}], begun[i] = true, true
					room -= needs
				} else {
					left, broken = left+needs, s.ordered
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

// newVerdictPage begins a page that explains the terms it uses.
func newVerdictPage(style Style, about ...any) *page {
	p := newPage(style, about...)
	p.terms = slices.Clone(terms)
	return p
}
