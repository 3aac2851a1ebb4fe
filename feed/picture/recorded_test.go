package picture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readAll joins files of the checkout.
func readAll(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// quotes reports whether a program has a name in quotes; torch_bilinear may be f"torch_{kind}" with its kinds.
func quotes(program, name string) bool {
	kind, isKind := strings.CutPrefix(name, "torch_")
	return strings.Contains(program, `"`+name+`"`) || strings.Contains(program, "_"+name+`"`) ||
		isKind && strings.Contains(program, `f"torch_{`) && strings.Contains(program, `"`+kind+`"`)
}

// Each operation that a library's function becomes is made by the daemon, recorded and tried by the client, told in the
// manual and counted by diagnose, and none of these knows another one.
func TestOperationsAreTriedAndTold(t *testing.T) {
	const deferred = "python/stoker/deferred/"
	makers := findMakers(t, readAll(t, deferred+"recipes/pictures.py"), readAll(t, deferred+"torchvision/vision.py"))
	tries := readAll(t, deferred+"materialize/trials.py", deferred+"torchvision/vision_trials.py")
	page := readAll(t, "docs/loader.md")
	counted := countedFunctions(t)
	for name, functions := range recorded {
		if _, ok := operations[name]; !ok {
			t.Errorf("%s: the daemon does not make it: operations.go has no row", name)
		}
		if !slices.Contains(makers, name) {
			t.Errorf("%s: PILLOW_OPERATIONS of recipes/pictures.py and NAMES of torchvision/vision.py lack it", name)
		}
		if !quotes(tries, name) {
			t.Errorf("%s: materialize/trials.py and torchvision/vision_trials.py do not try it", name)
		}
		for _, function := range functions {
			file, function, _ := strings.Cut(function, " ")
			if !slices.Contains(counted[file], function) && !slices.Contains(counted[file], "") {
				t.Errorf("%s: diagnose/live/pixels.go does not count %s of %s", name, function, file)
			}
			if strings.HasPrefix(file, "PIL/") && !isTold(page, file, function) {
				t.Errorf("%s: docs/loader.md does not say that %s of %s waits", name, function, file)
			}
		}
	}
	notOperations := []string{"copy", "load"} // reading and copying are no operation
	for _, file := range []string{"PIL/Image.py", "PIL/ImageOps.py"} {
		for _, function := range counted[file] {
			if !slices.Contains(notOperations, function) && !isRecorded(file+" "+function) {
				t.Errorf("diagnose/live/pixels.go counts %s of %s, which feed/picture/recorded.go does not have", function, file)
			}
		}
	}
	for _, name := range makers {
		if recorded[name] == nil {
			t.Errorf("the client makes %s, which feed/picture/recorded.go does not have", name)
		}
	}
}

// findMakers are the operations that the client can make by the library itself: PILLOW_OPERATIONS and NAMES.
func findMakers(t *testing.T, pillow, vision string) (names []string) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^    "(\w+)": `).FindAllStringSubmatch(between(pillow, "PILLOW_OPERATIONS: dict", "\n}\n"), -1)
	found = append(found, regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(between(vision, "\nNAMES = (", ")"), -1)...)
	for _, m := range found {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("only %v: the test looks in the wrong place", names)
	}
	return names
}

func isRecorded(function string) bool {
	for _, functions := range recorded {
		if slices.Contains(functions, function) {
			return true
		}
	}
	return false
}

// isTold reports whether the manual names a function, as itself or by its module.
func isTold(page, file, function string) bool {
	waits := between(page, "| waits for the daemon |", "\n\n")
	return strings.Contains(waits, "`"+function+"`") || file == "PIL/ImageEnhance.py" && strings.Contains(waits, "`ImageEnhance`") ||
		function == "filter" && strings.Contains(waits, "`GaussianBlur`")
}

// between is what a text has between two marks; "" where it lacks one.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return found
}

// countedFunctions are those that diagnose takes for work of the daemon's or of its kind, by file; "" stands for all.
func countedFunctions(t *testing.T) map[string][]string {
	t.Helper()
	source := between(readAll(t, "diagnose/live/pixels.go"), "var works = ", "\n}\n")
	entry := regexp.MustCompile(`(?s)(?:fedWork|otherWork), "([^"]+)",\s*(nil|\[\]string\{.*?\})`)
	name := regexp.MustCompile(`"([^"]+)"`)
	counted := map[string][]string{}
	for _, m := range entry.FindAllStringSubmatch(source, -1) {
		if m[2] == "nil" {
			counted[m[1]] = append(counted[m[1]], "")
		}
		for _, found := range name.FindAllStringSubmatch(m[2], -1) {
			counted[m[1]] = append(counted[m[1]], found[1])
		}
	}
	if len(counted) < 8 {
		t.Fatalf("%d files in diagnose/live/pixels.go: the test looks in the wrong place", len(counted))
	}
	return counted
}
