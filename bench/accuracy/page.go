package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
)

// The page's prose.
var (
	//go:embed method.md
	method string
	//go:embed untold.md
	untold string
)

// scores are the figures of one sight.
type scores struct {
	papers           []paper
	f1, right        float64
	told             float64 // macro-F1 without answers of unknown where nothing tells
	unknown, honest  float64 // and the part of it where nothing tells
	starved, asBound float64 // runs that starve, and which of them were called gpu-bound
}

// shortName is a class as the rows and columns have it.
func shortName(c diagnose.Class) string {
	if c.Is(diagnose.GPUBound) {
		return string(diagnose.GPUBound)
	}
	return string(c)
}

func scoresOf(papers []paper, sight string) scores {
	s := scores{}
	var told []paper
	for _, p := range papers {
		if p.Sight != sight {
			continue
		}
		s.papers = append(s.papers, p)
		if p.right() {
			s.right++
		}
		if p.Said == diagnose.Unknown {
			s.unknown++
		}
		if p.abstains() {
			s.honest++
		} else {
			told = append(told, p)
		}
		if p.Class.Starves() {
			s.starved++
			if p.Said.Is(diagnose.GPUBound) {
				s.asBound++
			}
		}
	}
	s.f1, s.told = macroF1(s.papers), macroF1(told)
	n := float64(max(1, len(s.papers)))
	s.right, s.unknown, s.honest = s.right/n, s.unknown/n, s.honest/n
	s.asBound /= max(1, s.starved)
	return s
}

// macroF1 is the mean of the F1 of each class that is there.
func macroF1(papers []paper) (sum float64) {
	said, are, hits := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, p := range papers {
		said[shortName(p.Said)]++
		are[shortName(p.Class)]++
		if p.right() {
			hits[shortName(p.Class)]++
		}
	}
	for class, n := range are {
		if hits[class] > 0 {
			sum += 2 * hits[class] / (n + said[class])
		}
	}
	return sum / float64(max(1, len(are)))
}

// summarize is a line per sight.
func summarize(papers []paper) string {
	var b strings.Builder
	b.WriteString("| sight | runs | macro-F1 | of what it can tell | right | unknown | where nothing tells | starved runs " +
		"called gpu-bound |\n|---|---|---|---|---|---|---|---|\n")
	row := func(name string, s scores) {
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %.1f %% | %.1f %% | %.1f %% | %.1f %% of %.0f |\n", name,
			len(s.papers), s.f1, s.told, 100*s.right, 100*s.unknown, 100*s.honest, 100*s.asBound, s.starved)
	}
	for _, sight := range sights {
		row(sight.Name, scoresOf(papers, sight.Name))
	}
	row("three questions of the articles", scoreArticles(papers))
	return b.String()
}

// scoreArticles is what the articles' flow says of the same jobs: GPU-Util high, the device is the
// limit; cores high, the CPU is; both low, storage is. A verdict of the right family is right.
func scoreArticles(papers []paper) scores {
	var answers []paper
	for _, p := range papers {
		if p.Sight != sights[0].Name {
			continue
		}
		family := diagnose.IOBound
		switch {
		case p.Util >= 0.9:
			family = diagnose.GPUBound
		case p.Busy >= 0.9:
			family = diagnose.CPUBound
		}
		p.Said, p.Sight = family, "three questions"
		if p.Class.Is(family) {
			p.Said = p.Class
		}
		answers = append(answers, p)
	}
	return scoresOf(answers, "three questions")
}

// besides are the tables of the other two exams, as their own pages have them.
type besides struct{ files, processes string }

// readTable is what a page has between its marks for this one; "" where it is not there.
func readTable(name string) string {
	text, err := os.ReadFile(name) //nolint:gosec // a page of ours
	_, rest, found := strings.Cut(string(text), "<!-- for bench/accuracy -->\n")
	table, _, _ := strings.Cut(rest, "<!-- end")
	if err != nil || !found {
		return "not made yet\n"
	}
	return table
}

// results is the page.
func results(papers []paper, draws int, beside besides) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# How often a verdict is right\n\n"+
		"Made by `make accuracy`: do not edit. Three exams, which are never mixed:\n\n"+
		"- [simulated jobs](#simulated-jobs): %d of each of %d classes, drawn with test seeds that no rule was mended "+
		"on (tune seeds are apart).\n"+
		"- [real processes](#real-processes) on the emulated device, labelled by its busy record: "+
		"[all of it](PROCESSES.md).\n"+
		"- [other people's files](#other-peoples-files), labelled by hand from raw events before any answer: "+
		"[all of it](../truth/RESULTS.md).\n\n## Simulated jobs\n\n", draws, len(classes))
	b.WriteString(method)
	b.WriteString("\n### In one table\n\n" + summarize(papers))
	for _, sight := range sights {
		b.WriteString("\n### " + sight.Name + "\n\n" + matrix(scoresOf(papers, sight.Name)))
	}
	b.WriteString("\n### What nothing tells without the hook\n\n" + untold)
	b.WriteString("\n### Reliability\n\n" + reliability(papers))
	b.WriteString("\n### Lead of the best rule\n\n" + calibration(papers))
	b.WriteString("\n### Misses\n\n" + listMisses(papers))
	b.WriteString("\n## Real processes\n\n" + beside.processes)
	b.WriteString("\n## Other people's files\n\n" + beside.files)
	return b.String()
}

// stated are the bounds of the reliability diagram: of the confidence that a verdict states.
var stated = []float64{0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01}

// reliability holds stated confidence against the share of right verdicts.
func reliability(papers []paper) string {
	var b strings.Builder
	b.WriteString("`confidence` was filled from jobs of the tune seeds. Each row holds it against jobs of these seeds. " +
		"Calibrated means that the two columns agree. No verdict states more than [real processes](PROCESSES.md) were right, " +
		"so simulated ones may be right more often than stated.\n\n" +
		"| confidence | verdicts | stated, mean | right |  |\n|---|---|---|---|---|\n")
	var n, off float64
	for i := range len(stated) - 1 {
		count, right, sum := 0.0, 0.0, 0.0
		for _, p := range papers {
			if p.Confidence > 0 && p.Confidence >= stated[i] && p.Confidence < stated[i+1] {
				count, sum = count+1, sum+p.Confidence
				if p.right() {
					right++
				}
			}
		}
		if count == 0 {
			continue
		}
		n, off = n+count, off+math.Abs(sum-right)
		fmt.Fprintf(&b, "| %.2f to %.2f | %.0f | %.3f | %.3f | `%s` |\n", stated[i], min(1, stated[i+1]), count, sum/count,
			right/count, strings.Repeat("#", int(40*right/count+0.5)))
	}
	if n > 0 {
		fmt.Fprintf(&b, "\nThe two are %.1f points apart in the mean over %.0f verdicts. %d have none: unknown, or "+
			"evidence that the exam does not carry.\n", 100*off/n, n, len(papers)-int(n))
	}
	return b.String()
}

// listMisses is each wrong verdict of the best sight, and those of the others by kind, with reasons.
func listMisses(papers []paper) string {
	var b strings.Builder
	b.WriteString("Each of the best sight, with the gain of its relief and the two best scores:\n\n" +
		"| class, draw | gain | said | why |\n|---|---|---|---|\n")
	kinds, order := map[string]int{}, []string{}
	for _, p := range papers {
		why := p.Blind
		switch {
		case p.right():
			continue
		case why != "":
		case p.Gain > 0 && p.Gain < 1.2:
			why = "little is lost, and rules begin there"
		default:
			why = "another rule fits as well or better"
		}
		if p.Sight == sights[0].Name {
			fmt.Fprintf(&b, "| %s, %d | %.2f | %s | %s: %s |\n", p.Class, p.Draw, p.Gain, p.Said, why, p.Scores)
			continue
		}
		kind := fmt.Sprintf("| %s | %s | %s | %s |", p.Sight, shortName(p.Class), shortName(p.Said), why)
		if kinds[kind] == 0 {
			order = append(order, kind)
		}
		kinds[kind]++
	}
	b.WriteString("\nThose of the others:\n\n| sight | class | said | why | runs |\n|---|---|---|---|---|\n")
	slices.Sort(order)
	for _, kind := range order {
		fmt.Fprintf(&b, "%s %d |\n", kind, kinds[kind])
	}
	return b.String()
}

// matrix is the confusion matrix of the classes, and each class's F1.
func matrix(s scores) string {
	said := map[string]map[string]int{}
	var wrong []string
	total := map[string]int{}
	for _, p := range s.papers {
		class, answer := shortName(p.Class), shortName(p.Said)
		if said[class] == nil {
			said[class] = map[string]int{}
		}
		said[class][answer]++
		total[answer]++
	}
	var b strings.Builder
	b.WriteString("| class | runs | right | F1 | said instead |\n|---|---|---|---|---|\n")
	for _, c := range classes {
		class, row := shortName(c), said[shortName(c)]
		n, hits := 0, row[class]
		wrong = wrong[:0]
		for answer, count := range row {
			n += count
			if answer != class {
				wrong = append(wrong, fmt.Sprintf("%s %d", answer, count))
			}
		}
		if n == 0 {
			continue
		}
		slices.Sort(wrong)
		fmt.Fprintf(&b, "| %s | %d | %d | %.2f | %s |\n", class, n, hits, 2*float64(hits)/float64(n+total[class]),
			strings.Join(wrong, ", "))
	}
	return b.String()
}

// leads are the bounds of the reliability diagram: of the best score's lead over the second.
var leads = []float64{0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.01}

// calibration is the share of right verdicts by how far the best rule leads.
func calibration(papers []paper) string {
	var b strings.Builder
	b.WriteString("How often a verdict other than unknown is right, by how far the best rule leads the second: " +
		"the lead is no probability.\n\n| lead of the best rule |")
	for _, s := range sights {
		b.WriteString(" " + s.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sights)) + "\n")
	for i := range len(leads) - 1 {
		fmt.Fprintf(&b, "| %.1f to %.1f |", leads[i], min(1, leads[i+1]))
		for _, s := range sights {
			n, right := 0, 0
			for _, p := range papers {
				if p.Sight == s.Name && p.Said != diagnose.Unknown && p.Lead >= leads[i] && p.Lead < leads[i+1] {
					n++
					if p.right() {
						right++
					}
				}
			}
			if n == 0 {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %.0f %% of %d |", 100*float64(right)/float64(n), n)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The bars of CI: some points below what the published exam has, for its few draws.
const (
	leastF1     = 0.85
	mostAsBound = 0.02
)

// holdBars fails where the first sight is below them.
func holdBars(papers []paper) error {
	s := scoresOf(papers, sights[0].Name)
	if s.f1 < leastF1 || s.asBound > mostAsBound {
		return fmt.Errorf(
			"macro-F1 %.3f, expected at least %v; starved runs called gpu-bound %.1f %%, expected at most %.0f %%: "+
				"-misses names each", s.f1, leastF1, 100*s.asBound, 100*mostAsBound)
	}
	return nil
}

// countForConfidence prints what diagnose/judge's table of confidence is filled from: verdicts that have one,
// by what they rest on and by whether they say gpu-bound.
func countForConfidence(papers []paper) string {
	type key struct {
		evidence string
		bound    bool
	}
	right, all := map[key]int{}, map[key]int{}
	for _, p := range papers {
		evidence := map[string]string{
			"all signals": "inside", "launches not counted": "clocked", "without GPM and power": "clocked",
			"without the hook": "outside",
		}[p.Sight]
		if evidence == "inside" && (p.Class == diagnose.ComputeOnCPU || p.Class == diagnose.NotTraining) {
			evidence = "clocked" // no launch of theirs could be counted
		}
		if evidence == "" || p.Confidence == 0 {
			continue
		}
		k := key{evidence, p.Said.Is(diagnose.GPUBound)}
		all[k]++
		if p.right() {
			right[k]++
		}
	}
	var b strings.Builder
	for _, evidence := range []string{"outside", "clocked", "inside"} {
		b.WriteString(evidence + ":")
		for _, bound := range []bool{true, false} {
			k := key{evidence, bound}
			fmt.Fprintf(&b, " %v: {%d, %d}", bound, right[k], all[k])
		}
		b.WriteString("\n")
	}
	return b.String()
}
