package stoker_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// page is a page of the manual. Its prose has no code blocks, tables and headings, and
// inline code is an X there.
type page struct {
	name, text, prose string
}

var (
	fenced    = regexp.MustCompile("(?s)```.*?```")
	generated = regexp.MustCompile(`(?s)<!-- begin .*?<!-- end [^\n]*`)
	inline    = regexp.MustCompile("`[^`\n]*`")
	linked    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	noProse   = regexp.MustCompile(`(?m)^[|#!<].*$`)
)

// manualPages are README.md, ARCHITECTURE.md, CONTRIBUTING.md and the pages of docs.
func manualPages(t *testing.T) []page {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) < 8 || len(names) > 13 {
		t.Fatalf("docs has %d pages, expected 8 to 13: %v", len(names), err)
	}
	var pages []page
	for _, name := range append(names, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := page{name: filepath.ToSlash(name), text: string(text)}
		prose := fenced.ReplaceAllString(generated.ReplaceAllString(p.text, ""), "")
		prose = inline.ReplaceAllString(linked.ReplaceAllString(noProse.ReplaceAllString(prose, ""), "$1"), "X")
		p.prose = prose
		pages = append(pages, p)
	}
	return pages
}

// notOurText reports whether a folder holds what others wrote or what was built, or is one of some more.
func notOurText(folder string, more ...string) bool {
	return len(folder) > 1 && folder[0] == '.' || folder == "bin" || folder == "node_modules" || slices.Contains(more, folder)
}

// Every link of a page, also of those that hold evidence, leads to a file and a heading that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && notOurText(d.Name()) {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, link := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(link[2], "://") {
				continue
			}
			links++
			if problem := follow(path, link[2]); problem != "" {
				t.Errorf("%s: %s: %s", path, link[0], problem)
			}
		}
		return err
	})
	if err != nil || links < 60 {
		t.Fatalf("%d links, %v", links, err)
	}
}

// follow returns an error if a link of a page is broken.
func follow(from, link string) string {
	name, heading, _ := strings.Cut(link, "#")
	to := from
	if name != "" {
		to = filepath.Join(filepath.Dir(from), name)
	}
	info, err := os.Stat(to)
	if err != nil || heading == "" || info.IsDir() {
		if err != nil {
			return "there is no such file"
		}
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if title := strings.TrimLeft(strings.TrimSpace(line), "#"); title != strings.TrimSpace(line) && anchor(title) == heading {
			return ""
		}
	}
	return "there is no such heading"
}

// anchor is what GitHub makes of a heading.
func anchor(title string) string {
	title = strings.ToLower(strings.TrimSpace(linked.ReplaceAllString(title, "$1")))
	return regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ReplaceAll(title, " ", "-"), "")
}

// Every file that the manual or a source file names exists at that path.
func TestNamedFilesExist(t *testing.T) {
	ours := regexp.MustCompile(`^(advise|agent|bench|cmd|diagnose|docs|examples|export|feed|hardware|internal|observe|predict|python|` +
		`recording|release|report|testdata|tools|trace|tune|verify|watch|web)/[\w./-]+\.\w+$`)
	found := 0
	for _, p := range manualPages(t) {
		for _, code := range inline.FindAllString(p.text, -1) {
			for _, name := range strings.Fields(strings.Trim(code, "`")) {
				if !ours.MatchString(name) || strings.ContainsAny(name, "*…") {
					continue
				}
				found++
				if _, err := os.Stat(name); err != nil {
					t.Errorf("%s names %s, which does not exist", p.name, name)
				}
			}
		}
	}
	if found < 20 {
		t.Fatalf("%d names: the test looks in the wrong place", found)
	}
	elsewhere := []string{"docs/benchmarks.md"} // gcsfuse's
	manual := regexp.MustCompile(`\b(?:docs|bench/\w+|predict|verify|release|report|feed/serve|hardware)/[\w-]+\.md\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && notOurText(d.Name(), "testdata", "predict") {
			return fs.SkipDir
		}
		if err != nil || !slices.Contains([]string{".go", ".py", ".sh", ".yml", ".service", ".toml"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range manual.FindAllString(string(text), -1) {
			if _, err := os.Stat(name); err != nil && !strings.Contains(string(text), "/"+name) && !slices.Contains(elsewhere, name) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// evidencePages returns the pages of measurements, in addition to the manual.
func evidencePages(t *testing.T) []page {
	t.Helper()
	var pages []page
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && notOurText(d.Name(), "testdata") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		pages = append(pages, page{name: filepath.ToSlash(path), text: string(text)})
		return err
	})
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return pages
}

// Every path of this project that a page names exists, relative to the checkout's root or to
// the page. Paths that make and the scripts install or write do not count.
func TestPagesNamePathsThatExist(t *testing.T) {
	ours := regexp.MustCompile("(?:^|[\\s(=:\"'`])((?:advise|agent|bench|cmd|diagnose|docs|examples|export|feed|hardware|internal|" +
		"observe|predict|python|recording|release|report|testdata|tools|trace|tune|verify|watch|web)/[\\w./*-]*[\\w*])")
	found := 0
	for _, p := range evidencePages(t) {
		for n, line := range strings.Split(p.text, "\n") {
			for _, m := range ours.FindAllStringSubmatch(line, -1) {
				if found++; strings.Contains(m[1], "/.venv") {
					continue
				}
				here, _ := filepath.Glob(m[1])
				beside, _ := filepath.Glob(filepath.Join(filepath.Dir(p.name), m[1]))
				if len(here)+len(beside) == 0 {
					t.Errorf("%s:%d names %s, which does not exist", p.name, n+1, m[1])
				}
			}
		}
	}
	if found < 200 {
		t.Fatalf("%d paths: the test looks in the wrong place", found)
	}
}

// Every command of this project on a page is valid: make has the target, a script has each
// flag, a package the test.
func TestPagesNameCommandsThatExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile("(?m)(?:^    |`|&& |; |^)make ((?:[a-z][a-z-]*\\b ?)+)")
	script := regexp.MustCompile(`\b((?:bench|examples|release|tools|python|feed|docs)/[\w./-]+\.py)\b([^\n|;#` + "`" + `]*)`)
	tested := regexp.MustCompile(`\bgo test ([^\n;#` + "`" + `]*)`)
	flag := regexp.MustCompile(`(?:^|\s)(--[a-z][a-z0-9-]*)`)
	found := map[string]int{}
	for _, p := range evidencePages(t) {
		code := fenced.FindAllString(p.text, -1)
		rest := fenced.ReplaceAllString(p.text, "")
		code = append(append(code, inline.FindAllString(rest, -1)...), regexp.MustCompile(`(?m)^    \S.*$`).FindAllString(rest, -1)...)
		for _, text := range code {
			for _, m := range target.FindAllStringSubmatch(text, -1) {
				for _, name := range strings.Fields(m[1]) {
					if found["make"]++; !regexp.MustCompile(`(?m)^` + name + `:`).Match(makefile) {
						t.Errorf("%s: make has no target %s", p.name, name)
					}
				}
			}
			for _, m := range script.FindAllStringSubmatch(text, -1) {
				source, err := os.ReadFile(m[1])
				if err != nil {
					continue // TestPagesNamePathsThatExist says so
				}
				for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
					if found["flag"]++; !strings.Contains(string(source), `"`+f[1]+`"`) && !strings.Contains(string(source), f[1]+" ") {
						t.Errorf("%s: %s has no flag %s", p.name, m[1], f[1])
					}
				}
			}
			for _, m := range tested.FindAllStringSubmatch(text, -1) {
				found["test"]++
				if problem := missingTest(m[1]); problem != "" {
					t.Errorf("%s: go test %s: %s", p.name, m[1], problem)
				}
			}
		}
	}
	if found["make"] < 40 || found["flag"] < 30 || found["test"] < 20 {
		t.Fatalf("%v: the test looks in the wrong place", found)
	}
}

// mostEvidence is how many words all pages of evidence have together, and mostOfPage how many one of them has: a page is
// one question with its command, its table and what falls short.
const (
	mostEvidence = 30_000
	mostOfPage   = 3_000
)

// isEvidence reports whether a page measures something, and is no manual.
func isEvidence(name string) bool {
	return strings.HasPrefix(name, "bench/") || strings.HasSuffix(name, "/RESULTS.md")
}

// Evidence is short, names where and when it was measured, and tells no history.
func TestEvidenceIsEvidence(t *testing.T) {
	history := regexp.MustCompile(`(?i)\bissue \d|^#.*(?:quarter of an hour|session|stop \d)|\bturn \d\b|\bbranch [a-z]+\d`)
	date := regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	dateless := []string{"bench/security/RESULTS.md", "bench/accuracy/RESULTS.md"} // of tests, and of a simulator
	words, found := 0, 0
	for _, p := range evidencePages(t) {
		if !isEvidence(p.name) {
			continue
		}
		n := len(strings.Fields(p.text))
		if found, words = found+1, words+n; n > mostOfPage {
			t.Errorf("%s has %d words, expected at most %d: what is not the answer to its question goes", p.name, n, mostOfPage)
		}
		if !date.MatchString(p.text) && !slices.Contains(dateless, p.name) {
			t.Errorf("%s says nowhere when it was measured", p.name)
		}
		for n, line := range strings.Split(p.text, "\n") {
			if said := history.FindString(line); said != "" {
				t.Errorf("%s:%d tells of %q: a page has what was measured, and git its history", p.name, n+1, said)
			}
		}
	}
	if words > mostEvidence {
		t.Errorf("the pages of evidence have %d words together, expected at most %d", words, mostEvidence)
	}
	if found < 25 {
		t.Fatalf("%d pages: the test looks in the wrong place", found)
	}
}

// Every folder of bench is started by a make target, or it is dead.
func TestBenchesHaveTargets(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("bench/*/*.*")
	if err != nil || len(scripts) < 80 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		if folder := filepath.ToSlash(filepath.Dir(name)); slices.Contains([]string{".py", ".go", ".sh", ".cjs"}, filepath.Ext(name)) &&
			!strings.Contains(string(makefile), folder) {
			t.Errorf("%s: no target of the Makefile names %s: give it one that somebody runs, or take it away", name, folder)
		}
	}
}

// The workflows call what can be called here, with actions of one version and no rights but those that they name.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(names) < 2 {
		t.Fatalf("workflows %v, %v", names, err)
	}
	uses := regexp.MustCompile(`uses: (\S+)`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@v\d+\.\d+\.\d+$`)
	stages := regexp.MustCompile(`(?m)(?:stages: |run: make )([a-z][a-z -]*)`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not begin with the right to read alone", name)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, expected one version as in actions/checkout@v4.2.2", name, m[1])
			}
		}
		for _, m := range stages.FindAllStringSubmatch(string(text), -1) {
			for _, target := range strings.Fields(m[1]) {
				if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
					t.Errorf("%s: make has no target %s", name, target)
				}
			}
		}
	}
	if text, _ := os.ReadFile(".github/workflows/ci.yml"); !strings.Contains(string(text), "run: .ci/run") {
		t.Error(".github/workflows/ci.yml does not call .ci/run")
	}
}

// missingTest says what of a go test is not there: its package, or a test of the name.
func missingTest(arguments string) string {
	folder := regexp.MustCompile(`(?:^|\s)(\./[\w./-]*)`).FindStringSubmatch(arguments)
	if folder == nil || strings.Contains(folder[1], "...") || strings.ToUpper(folder[1]) == folder[1] { // a placeholder
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(folder[1], "*_test.go"))
	if len(files) == 0 {
		return "there is no test in " + folder[1]
	}
	var all strings.Builder
	for _, name := range files {
		text, _ := os.ReadFile(name)
		all.Write(text)
	}
	for _, m := range regexp.MustCompile(`-(run|bench|fuzz)[ =]'?\^?\(?([A-Z][\w|]*)`).FindAllStringSubmatch(arguments, -1) {
		for name := range strings.SplitSeq(strings.Trim(m[2], "|"), "|") {
			if !regexp.MustCompile(`func (Test|Benchmark|Fuzz)?\w*` + name).MatchString(all.String()) {
				return "there is no " + name
			}
		}
	}
	return ""
}

// flagsOfOthers stand in the manual with the tools that have them.
var flagsOfOthers = strings.Fields("--gpus --shm-size --ulimit --cap-add --cpus-per-task --set --help --version --update --simd")

// Every flag of stoker in the manual exists in the verb before it.
func TestNamedFlagsExist(t *testing.T) {
	text, err := os.ReadFile("docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`(?:^|[\s,|(])(--?[a-z][a-z-]*)`)
	flags, all := map[string]map[string]bool{}, map[string]bool{"--color": true}
	for _, section := range regexp.MustCompile("(?s)#+ stoker ([a-z ]+)\n\n```\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		known := map[string]bool{"--color": true, "--help": true}
		for _, flag := range word.FindAllStringSubmatch(section[2], -1) {
			known[flag[1]], all[flag[1]] = true, true
		}
		flags[section[1]] = known
	}
	if len(flags) < 20 || len(all) < 100 {
		t.Fatalf("the reference has %d verbs with %d flags", len(flags), len(all))
	}
	command := regexp.MustCompile(`\bstoker ((?:predict (?:train|serve|fleet|data|transformation)|runs (?:check|trim|merge)|[a-z]+)\b)((?: [^\n|;&#]*)?)`)
	found := 0
	for _, p := range manualPages(t) {
		for _, code := range append(fenced.FindAllString(p.text, -1), inline.FindAllString(p.text, -1)...) {
			for _, call := range command.FindAllStringSubmatch(code, -1) {
				ours, _, _ := strings.Cut(call[2], " -- ")
				for _, flag := range word.FindAllStringSubmatch(ours, -1) {
					if found++; flags[call[1]] != nil && !flags[call[1]][flag[1]] {
						t.Errorf("%s: stoker %s has no flag %s", p.name, call[1], flag[1])
					}
				}
			}
			if flag := word.FindStringSubmatch(strings.Trim(code, "`")); flag != nil && strings.HasPrefix(code, "`--") &&
				!all[flag[1]] && !slices.Contains(flagsOfOthers, flag[1]) {
				t.Errorf("%s: no verb has the flag %s", p.name, flag[1])
			}
		}
	}
	if found < 40 {
		t.Fatalf("%d flags: the test looks in the wrong place", found)
	}
}

// A measured figure appears once in the manual; other places link to it.
func TestFiguresAppearOnce(t *testing.T) {
	figure := regexp.MustCompile(`(?:\d+\.\d+|\d{2,}|\d+,\d+)(?: to \d[\d.,]*)? ?(?:%|µs|ms|GiB|GB|MB|kB|KB|x\b)`)
	bounds := []string{"95 %", "10 %", "20%", "1.05x", "256 MB"} // of rules, which are said where they hold
	first := map[string]string{}
	for _, p := range manualPages(t) {
		for _, found := range figure.FindAllString(fenced.ReplaceAllString(generated.ReplaceAllString(p.text, ""), ""), -1) {
			if at := first[found]; at != "" && at != p.name && !slices.Contains(bounds, found) {
				t.Errorf("%q stands in %s and in %s: link one to the other", found, at, p.name)
			}
			first[found] = p.name
		}
	}
	if len(first) < 3 {
		t.Fatalf("%d figures: the test looks in the wrong place", len(first))
	}
}

// A figure that the manual quotes appears in the page or script that measured it.
func TestQuotedFiguresAreMeasured(t *testing.T) {
	for _, q := range []struct{ page, quote, evidence, measured string }{
		{"README.md", "**0.56**", "bench/loader/RESULTS.md", "| stoker, exact (Pillow's pixels) | this checkout | 3 | 0.56 "},
		{"README.md", "| 1.01 |", "bench/loader/RESULTS.md", "| 1.01 (0.90-1.24) |"},
		{"README.md", "| 2.14 |", "bench/loader/RESULTS.md", "| 2.14 (2.08-2.20) |"},
		{"README.md", "| 3.62 |", "bench/loader/RESULTS.md", "| 3.62 (3.37-3.81) |"},
		{"README.md", "620 of 633 runs", "bench/accuracy/PROCESSES.md", "620 of 633 runs got their class, and 48 of 63 without"},
		{"README.md", "29 of 31 gains", "bench/gains/RESULTS.md", "all pairs: 29 of 31 inside"},
		{"README.md", "1.65 s of CPU time, HTA takes 52.9 s", "bench/trace/RESULTS.md", "1.65 s of CPU (1.60-1.65; 608 MB of"},
		{"README.md", "HTA takes 52.9 s", "bench/trace/RESULTS.md", "HTA 53.0 s, 52.9 s of CPU"},
		{"README.md", "597 images/s, and 1,536 under", "bench/gpu/RESULTS.md", "| PyTorch's, under `stoker feed --` | 1,536 | 20 of 20 equal |"},
		{"docs/observe.md", "14 µs of core time per step", "bench/reliability/RESULTS.md", "14 µs of core time per step"},
		{"README.md", "94.8 to 97.5 %", "verify/RESULTS.md", "it holds 94.8 to 97.5 %"},
	} {
		for name, words := range map[string]string{q.page: q.quote, q.evidence: q.measured} {
			if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), words) {
				t.Errorf("%s does not say %q (%v): %s quotes what %s measured", name, words, err, q.page, q.evidence)
			}
		}
	}
}

// translated are phrases that make a reader stumble. What to write is in the second column of report/VOICE.md
// and in CONTRIBUTING.md.
var translated = regexp.MustCompile(`(?i)[,;:.]\s+where |(?m:^(?:- )?where )|\bof which\b|\b(?:are|is) told\b|\banew\b|\bbut for\b|\btherefore\b`)

// The manual is short, and reads as people speak.
func TestManualReadsWell(t *testing.T) {
	words, semicolons, sentences := 0, 0, []int{}
	for _, p := range manualPages(t) {
		words += len(strings.Fields(fenced.ReplaceAllString(p.text, "")))
		for n, line := range strings.Split(p.text, "\n") {
			if utf8.RuneCountInString(line) > 100 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s has a line of more than 100 columns, line %d: %.60s…", p.name, n+1, line)
			}
		}
		for _, phrase := range translated.FindAllString(p.prose, -1) {
			t.Errorf("%s says %q: put the subject first, and the condition behind it with if or when", p.name, strings.TrimSpace(phrase))
		}
		for _, sentence := range split(p.prose) {
			sentences = append(sentences, len(strings.Fields(sentence)))
			semicolons += strings.Count(sentence, ";")
		}
	}
	slices.Sort(sentences)
	n := len(sentences)
	measures := fmt.Sprintf("%d words, %d sentences of %d words in the median and %d at the ninth decile, %d semicolons",
		words, n, sentences[n/2], sentences[n*9/10], semicolons)
	if t.Log(measures); words > 28_000 || sentences[n/2] > 11 || sentences[n*9/10] > 22 || semicolons*100 > 2*n {
		t.Errorf("the manual has %s, expected 28,000 words, 11 and 22, 2 in 100", measures)
	}
	if readme, err := os.ReadFile("README.md"); err != nil || strings.Count(string(readme), "\n") > 120 {
		t.Errorf("README.md has more than 120 lines: %v", err)
	}
}

// split are the sentences of a page's prose with more than two words.
func split(prose string) []string {
	joined := regexp.MustCompile(`\n([^\s\-*\d])`).ReplaceAllString(prose, " $1")
	var sentences []string
	for _, s := range regexp.MustCompile(`[.!?:]\s+|\n+`).Split(joined, -1) {
		if len(strings.Fields(s)) > 2 {
			sentences = append(sentences, s)
		}
	}
	return sentences
}

// The README gives a newcomer the commands that release/fresh tries on empty machines, a GPU to
// use if the machine has none, and one form of the command.
func TestReadmeIsForNewcomers(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("release/fresh")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`COMMANDS:-([^}]+)\}`).FindSubmatch(script)
	if commands == nil {
		t.Fatal("release/fresh has no commands")
	}
	for _, words := range append(strings.Split(string(commands[1]), ";"), "STOKER_EMULATE=1") {
		if !strings.Contains(string(text), "`"+words+"`") {
			t.Errorf("README.md does not say %q", words)
		}
	}
	for _, block := range fenced.FindAllString(string(text), -1) {
		if strings.Contains(block, "bin/stoker ") {
			t.Errorf("README.md types bin/stoker here and stoker there: %s", block)
		}
	}
}

// The map in ARCHITECTURE.md names every folder of Go that the floors know.
func TestMapIsWhole(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(floors) {
		folder, _, isRow := strings.Cut(line, ":")
		if folder = strings.TrimSpace(folder); !isRow || folder == "." || folder == "python" || folder == "cmd" {
			continue
		}
		name := folder
		if rest, found := strings.CutPrefix(folder, "report/"); found {
			name = rest // report's rooms stand together in one row
		}
		if !regexp.MustCompile("[` ]" + regexp.QuoteMeta(name) + "/[` ]").Match(text) {
			t.Errorf("the map in ARCHITECTURE.md lacks %s/", folder)
		}
	}
}
