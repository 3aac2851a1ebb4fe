package stoker_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors is the picture of ARCHITECTURE.md as text: to the right of the colon, what a folder
// may import; "." is the root, "*" everything. A folder may always import itself, and every
// folder except the root may import internal. A sub-folder counts as its parent unless it has a
// separate line; who may import a folder may import those below it. Test files may import
// anything. A folder with Go files needs a line, a line needs a folder.
//
// Change the table on purpose, in the commit that needs it, never to silence the test.
const floors = `
.          :
internal   :
quantity   : .
hardware   : . quantity
recording  : . quantity
predict    : . quantity hardware predict/bounds predict/device
predict/bounds   : .
predict/device   : . quantity hardware predict/bounds
predict/language : . quantity hardware
predict/measure  : . quantity hardware recording predict predict/bounds predict/device
predict/question : . quantity hardware recording predict predict/bounds predict/device predict/measure
predict/tutorial : . quantity hardware predict predict/bounds predict/device
predict/replay   : . hardware recording predict predict/bounds predict/measure
diagnose   : . quantity hardware recording predict
diagnose/rules  : . quantity diagnose
diagnose/live   : . quantity recording predict diagnose
diagnose/traced : . quantity hardware recording predict diagnose
diagnose/ledger : . quantity recording predict diagnose diagnose/live
diagnose/judge  : . quantity hardware recording predict diagnose diagnose/rules diagnose/live diagnose/traced diagnose/ledger
observe    : . quantity hardware recording
trace      : . hardware recording
feed       : . quantity recording
advise     : . quantity hardware recording predict diagnose
verify     : . quantity hardware recording predict diagnose
report     : . quantity hardware recording predict diagnose advise verify
report/text : . quantity recording predict diagnose advise verify report
report/wire : . hardware recording predict diagnose advise verify report
report/page : . quantity recording predict diagnose advise verify report report/wire
report/ci   : . quantity recording diagnose advise verify report report/wire
export     : . recording diagnose
agent      : . hardware recording observe predict diagnose export
web        : . recording predict diagnose advise verify report
watch      : . quantity hardware recording predict diagnose advise report
tune       : *
python     :
bench      : *
cmd        : *
`

// fences lists packages outside this module that folders must not import, each with the reason.
// A package includes those below it, except if it has a separate line.
var fences = []fence{
	{
		// The mind and the words: no clock, disk, network, chance, goroutine.
		folders: []string{".", "hardware", "predict", "diagnose", "advise", "verify", "report"},
		banned: map[string]string{
			"C":             "the mind runs anywhere",
			"unsafe":        "the mind runs anywhere",
			"context":       "pure functions return when they are done",
			"crypto/rand":   "the same input gives the same answer",
			"math/rand":     "the same input gives the same answer: use internal/stat or math/rand/v2 with a seed",
			"io/ioutil":     "the mind opens nothing",
			"log":           "return a warning in the result",
			"net":           "the mind opens nothing",
			"os":            "the mind opens nothing",
			"path/filepath": "the mind opens nothing",
			"plugin":        "the mind opens nothing",
			"runtime":       "an answer must not depend on where it is computed",
			"sync":          "the mind has no goroutines",
			"syscall":       "the mind opens nothing",
			"time":          "the mind has no clock: take the time as an argument",
		},
		except: map[string]string{
			"report":  "time", // it prints dates; clock functions stay forbidden, see clock
			"predict": "sync", // OnceValue alone: its table is read when somebody asks for it
		},
		outside: "the mind needs nobody else's code",
		pure:    true,
	},
	{
		// Parsers read what others wrote: a fault in one must not reach further.
		folders: []string{"recording"},
		banned: map[string]string{
			"C":       "a parser stays within Go's memory",
			"net":     "a parser talks to nobody",
			"os/exec": "a parser starts nothing",
			"plugin":  "a parser starts nothing",
			"syscall": "a parser stays within os",
			"unsafe":  "a parser stays within Go's memory",
		},
		outside: "a parser needs nobody else's code",
	},
	{
		// Formats of others are left to the libraries that know them best: gzip and
		// zstd to klauspost/compress, at twice the speed of the standard library,
		// protocol buffers to their own module, and SQLite's files to SQLite, since
		// SQL is not ours to write. Its locks are asked for with x/sys.
		folders: []string{"trace"},
		banned: map[string]string{
			"C":       "a parser stays within Go's memory",
			"net":     "a parser talks to nobody",
			"os/exec": "a parser starts nothing",
			"plugin":  "a parser starts nothing",
			"syscall": "a parser stays within os",
			"unsafe":  "a parser stays within Go's memory",
		},
		outside: "a parser of text needs nobody else's code",
		leaves: map[string][]string{
			"trace":        {"github.com/klauspost/compress", "golang.org/x/sys"},
			"trace/xplane": {"google.golang.org/protobuf"},
			"trace/nsight": {"modernc.org/sqlite", "golang.org/x/sys"},
		},
	},
	{
		// The same bytes and the same seed give the same tensor, on every machine;
		// and files of strangers are parsed here. Assembly is asked for by what
		// feed/kernels says of the processor only, and checks nothing itself.
		folders: []string{"feed/decode", "feed/transform", "feed/picture", "feed/order", "feed/kernels", "feed/wheel"},
		banned: map[string]string{
			"C":       "the default build needs no C; the oracle of the tests has a tag",
			"net":     "a parser talks to nobody",
			"os":      "pixels come from bytes: feed/source reads files",
			"os/exec": "a parser starts nothing",
			"plugin":  "a parser starts nothing",
			"syscall": "a parser starts nothing",
			"unsafe":  "a parser stays within Go's memory",
		},
		outside: "a parser needs nobody else's code",
		leaves: map[string][]string{
			"feed/decode/oracle": {"C", "unsafe"},
			"feed/kernels":       {"golang.org/x/sys"},
			"feed/kernels/neon":  {"os", "os/exec"}, // a generator: no program holds it
		},
	},
}

// walls lists folders of this module that parts of it must not import, each with the reason,
// even if the table allows it. A folder includes those below it.
var walls = map[string]map[string]string{
	"diagnose/rules": {
		"recording":          "a rule sees a Case and no Run",
		"predict":            "a Case holds the costs: a rule measures nothing",
		"diagnose/live":      "a rule cannot tell who filled its Case",
		"diagnose/traced":    "a rule cannot tell who filled its Case",
		"diagnose/idle":      "a rule asks quantities, not gaps",
		"diagnose/ranks":     "a rule asks quantities, not ranks of a trace",
		"diagnose/operators": "a rule asks quantities, not operators",
		"diagnose/lanes":     "a rule draws nothing",
		"diagnose/flame":     "a rule draws nothing",
		"diagnose/memory":    "a rule asks quantities, not allocations",
	},
	"diagnose/live": {
		"diagnose/rules":     "who fills a Case does not know who asks it",
		"diagnose/traced":    "the two that fill a Case stand side by side",
		"diagnose/idle":      "a live job has no timeline",
		"diagnose/ranks":     "a live job has no timeline",
		"diagnose/operators": "a live job has no timeline",
		"diagnose/lanes":     "a live job has no timeline",
		"diagnose/flame":     "a live job has no timeline",
		"diagnose/memory":    "a live job has no timeline",
	},
	"diagnose/traced": {
		"diagnose/rules": "who fills a Case does not know who asks it",
		"diagnose/live":  "the two that fill a Case stand side by side",
	},
}

// fence is one list of forbidden packages.
type fence struct {
	folders []string
	banned  map[string]string   // package: reason
	except  map[string]string   // folder: package that it may import all the same
	outside string              // why no other module may be imported; "" allows them
	leaves  map[string][]string // folder, without those below it: the other modules that it may import
	pure    bool                // no go statement, no clock, no chance without a seed
}

func TestFloors(t *testing.T) {
	for _, broken := range checkFloors(t, ".", floors) {
		t.Error(broken)
	}
}

// TestFloorsSeesViolations breaks every rule once in a small tree.
func TestFloorsSeesViolations(t *testing.T) {
	const table = `
.         :
internal  :
recording : .
predict   : . recording
report    : . predict
predict/deep : .
diagnose  : . recording
diagnose/rules : . diagnose
trace     : .
cmd       : *
`
	files := map[string]string{
		"doc.go":                     "package stoker\nimport _ \"github.com/stoker-dev/stoker/internal/stat\"\n",
		"internal/stat/stat.go":      "package stat\nimport _ \"math/rand\"\n",
		"recording/read.go":          "package recording\n\nimport (\n\t_ \"os\"\n\t_ \"github.com/stoker-dev/stoker/predict\"\n\t_ \"os/exec\"\n)\n",
		"recording/read_test.go":     "package recording\nimport _ \"github.com/stoker-dev/stoker/cmd/stoker\"\n",
		"predict/law.go":             "package predict\nimport \"math/rand/v2\"\nvar x = rand.New(rand.NewPCG(1, 2))\nvar y = rand.IntN(6)\nfunc f() { go f() }\n",
		"predict/deep/law.go":        "package deep\nimport _ \"github.com/stoker-dev/stoker/predict\"\n",
		"predict/deep/clock.go":      "package deep\nimport _ \"time\"\nimport _ \"net/http\"\nimport _ \"example.org/x\"\n",
		"predict/deep/testdata/x.go": "package x\nimport _ \"os\"\n",
		"report/page.go":             "package report\nimport \"time\"\nimport _ \"github.com/stoker-dev/stoker/recording\"\nvar d time.Duration\nvar now = time.Now()\n",
		"report/plot/draw.go":        "package plot\nimport _ \"example.org/x\"\nimport _ \"os\"\n",
		"diagnose/case.go":           "package diagnose\nimport _ \"github.com/stoker-dev/stoker/recording\"\n",
		"diagnose/idle/gap.go":       "package idle\nimport _ \"time\"\n",
		"diagnose/rules/io_bound.go": "package rules\n\nimport (\n\t_ \"github.com/stoker-dev/stoker/diagnose\"\n\t_ \"github.com/stoker-dev/stoker/diagnose/idle\"\n\t_ \"github.com/stoker-dev/stoker/recording\"\n\t_ \"os\"\n)\nfunc f() { go f() }\n",
		"report/text.go":             "package report\nimport _ \"gonum.org/v1/plot\"\n",
		"cmd/stoker/main.go":         "package main\nimport _ \"github.com/stoker-dev/stoker/predict\"\nimport _ \"os\"\n",
		"cmd/stoker/verify/verify.go": "package verify\nimport _ \"github.com/stoker-dev/stoker/verify\"\nimport _ \"github.com/stoker-dev/stoker/cmd/stoker/internal/cli\"\n" +
			"import _ \"github.com/stoker-dev/stoker/cmd/stoker/trace\"\n",
		"cmd/stoker/internal/cli/cli.go": "package cli\nimport _ \"github.com/stoker-dev/stoker/cmd/stoker/trace\"\n",
		"examples/toy.go":                "package examples\n",
		"tools/go.mod":                   "module tools\n",
		"tools/tools.go":                 "package tools\n",
		".hidden/x.go":                   "package x\n",
	}
	want := []string{
		"doc.go:2: . must not import internal",
		"recording/read.go:5: recording must not import predict",
		"recording/read.go:6: recording must not import os/exec",
		"predict/law.go:4: predict must not call rand.IntN",
		"predict/law.go:5: predict must not start a goroutine",
		"predict/deep/law.go:2: predict/deep must not import predict",
		"predict/deep/clock.go:2: predict/deep must not import time",
		"predict/deep/clock.go:3: predict/deep must not import net/http",
		"predict/deep/clock.go:4: predict/deep must not import example.org/x",
		"diagnose/idle/gap.go:2: diagnose must not import time",
		"diagnose/rules/io_bound.go:5: diagnose/rules must not import diagnose/idle: a rule asks quantities",
		"diagnose/rules/io_bound.go:6: diagnose/rules must not import recording: a rule sees a Case",
		"diagnose/rules/io_bound.go:7: diagnose/rules must not import os",
		"diagnose/rules/io_bound.go:9: diagnose/rules must not start a goroutine",
		"report/page.go:3: report must not import recording",
		"report/page.go:5: report must not call time.Now",
		"report/plot/draw.go:2: report must not import example.org/x",
		"report/plot/draw.go:3: report must not import os",
		"report/text.go:2: report must not import gonum.org/v1/plot",
		"cmd/stoker/verify/verify.go:4: cmd must not import the verb trace: what verbs share lies in cmd/stoker/internal",
		"cmd/stoker/internal/cli/cli.go:2: cmd must not import the verb trace",
		"examples: has Go files but no line",
		"trace: has a line but no Go files",
	}
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := checkFloors(t, root, table)
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("not noticed: %s", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("noticed %d violations, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

// checkFloors reads the Go files under root, in this process (a subprocess would
// be hidden by the test cache), and returns a line per violation.
func checkFloors(t *testing.T, root, table string) (broken []string) {
	t.Helper()
	allowed := parseTable(t, table)
	seen := map[string]bool{}
	for _, name := range goFiles(t, root) {
		folder, room := floorOf(name), roomOf(name, allowed)
		if seen[room] = true; allowed[room] == nil {
			continue // reported once, below
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("read %s: %v", name, err)
			continue
		}
		report := func(at token.Pos, format string, args ...any) {
			broken = append(broken, fmt.Sprintf("%s:%d: %s must not %s", name, positions.Position(at).Line, room, fmt.Sprintf(format, args...)))
		}
		checkRooms(file, room, allowed, report)
		checkVerbs(name, file, report)
		checkImports(name, file, folder, report)
		checkPure(file, folder, report)
	}
	for room := range seen {
		if allowed[room] == nil {
			broken = append(broken, room+": has Go files but no line in the table of floors_test.go")
		}
	}
	for folder := range allowed {
		if !seen[folder] {
			broken = append(broken, folder+": has a line but no Go files")
		}
	}
	slices.Sort(broken)
	return broken
}

type reporter func(at token.Pos, format string, args ...any)

// checkRooms holds a file's imports of our own against its room's line.
func checkRooms(file *ast.File, room string, allowed map[string][]string, report reporter) {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		below, ours := strings.CutPrefix(path+"/", module+"/")
		if !ours {
			continue
		}
		if reason := walled(room, strings.TrimSuffix(below, "/")); reason != "" {
			report(spec.Pos(), "import %s: %s", strings.TrimSuffix(below, "/"), reason)
			continue
		}
		wanted := roomOf(below+"x.go", allowed)
		free := wanted == room || wanted == "internal" && room != "." || slices.Contains(allowed[room], "*")
		parent := floorOf(wanted + "/x.go")
		if parent == floorOf(room+"/x.go") {
			parent = wanted // rooms of one folder name each other
		}
		if !free && !slices.Contains(allowed[room], wanted) && !slices.Contains(allowed[room], parent) {
			report(spec.Pos(), "import %s", wanted)
		}
	}
}

// checkVerbs holds the verbs of the command apart: none imports another, and what several need lies
// below cmd/stoker/internal. The main package alone names them all.
func checkVerbs(name string, file *ast.File, report reporter) {
	folder := filepath.ToSlash(filepath.Dir(name))
	below, isBelow := strings.CutPrefix(folder, verbs+"/")
	if !isBelow {
		return
	}
	own, _, _ := strings.Cut(below, "/")
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		imported, isVerb := strings.CutPrefix(path, module+"/"+verbs+"/")
		if other, _, _ := strings.Cut(imported, "/"); isVerb && other != "internal" && other != own {
			report(spec.Pos(), "import the verb %s: what verbs share lies in %s/internal", other, verbs)
		}
	}
}

// verbs is the folder in which each verb of the command has one of its own.
const verbs = "cmd/stoker"

// module is the path of our own code.
const module = "github.com/stoker-dev/stoker"

// checkImports holds a file's imports of others against its folder's fences.
func checkImports(name string, file *ast.File, folder string, report reporter) {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if path == module || strings.HasPrefix(path, module+"/") {
			continue
		}
		for _, f := range fences {
			if reason := f.forbids(name, folder, path); reason != "" && !f.leaf(name, path) {
				report(spec.Pos(), "import %s: %s", path, reason)
			}
		}
	}
}

// walled gives the reason why a room must not import a folder of our own, "" if it may.
func walled(room, own string) string {
	for banned, reason := range walls[room] {
		if own == banned || strings.HasPrefix(own, banned+"/") {
			return reason
		}
	}
	return ""
}

// forbids gives the reason why a file of folder must not import path, "" if it may.
func (f fence) forbids(name, folder, path string) string {
	if !f.holds(name, folder) || f.except[folder] == path || path == "math/rand/v2" {
		return "" // of math/rand/v2 the calls are checked
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return f.outside
	}
	for banned, reason := range f.banned {
		if path == banned || strings.HasPrefix(path, banned+"/") {
			return reason
		}
	}
	return ""
}

// holds reports whether a file is in one of the fence's folders, or below it.
func (f fence) holds(name, folder string) bool {
	return slices.ContainsFunc(f.folders, func(in string) bool { return in == folder || strings.HasPrefix(name, in+"/") })
}

// leaf reports whether a file is in a folder that may import the module.
func (f fence) leaf(name, path string) bool {
	return slices.ContainsFunc(f.leaves[filepath.ToSlash(filepath.Dir(name))], func(module string) bool {
		return path == module || strings.HasPrefix(path, module+"/")
	})
}

// Of these packages a pure folder may use types and constructors only.
var (
	seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Zipf", "Source"}
	clock  = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
)

// checkPure finds what imports do not show: goroutines, use of the clock, randomness without a
// seed.
func checkPure(file *ast.File, folder string, report reporter) {
	if !slices.ContainsFunc(fences, func(f fence) bool { return f.pure && slices.Contains(f.folders, folder) }) {
		return
	}
	local := map[string]string{} // name in this file: package
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		switch {
		case path != "time" && path != "math/rand/v2":
		case spec.Name != nil:
			local[spec.Name.Name] = path
		case path == "time":
			local["time"] = path
		default:
			local["rand"] = path
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "start a goroutine")
		case *ast.SelectorExpr:
			x, _ := n.X.(*ast.Ident)
			if x == nil {
				break
			}
			path := local[x.Name]
			if path == "time" && slices.Contains(clock, n.Sel.Name) || path == "math/rand/v2" && !slices.Contains(seeded, n.Sel.Name) {
				report(n.Pos(), "call %s.%s: the same input gives the same answer", x.Name, n.Sel.Name)
			}
		}
		return true
	})
}

// goFiles returns the files under root that the table covers, with slashes: no tests, hidden
// folders, testdata or nested modules.
func goFiles(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root {
			_, foreign := os.Stat(filepath.Join(path, "go.mod"))
			if foreign == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !entry.IsDir() {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(relative))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// roomOf is the line that a file belongs to: the longest that names its folder or one
// above it.
func roomOf(name string, lines map[string][]string) string {
	for folder := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(name, "/"))); folder != "."; {
		if lines[folder] != nil {
			return folder
		}
		folder = filepath.ToSlash(filepath.Dir(folder))
	}
	return floorOf(name)
}

// floorOf is the first folder of a file, "." for the root.
func floorOf(name string) string {
	folder, _, below := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if !below {
		return "."
	}
	return folder
}

// parseTable reads the table; a folder without permissions has an empty list, a
// folder without a line none.
func parseTable(t *testing.T, table string) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for line := range strings.Lines(table) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		folder, may, ok := strings.Cut(line, ":")
		if folder = strings.TrimSpace(folder); !ok || allowed[folder] != nil {
			t.Fatalf("table of floors: not a line, or the second of its folder: %q", line)
		}
		allowed[folder] = append([]string{}, strings.Fields(may)...)
	}
	return allowed
}
