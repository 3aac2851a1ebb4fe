package picture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/golden"
)

// modules are the files of libraries, as stacks name them, by their names in the table of
// operations.
var modules = map[string]string{
	"Image":        "PIL/Image.py",
	"ImageEnhance": "PIL/ImageEnhance.py",
	"ImageOps":     "PIL/ImageOps.py",
	"v1":           "torchvision/transforms/_functional_pil.py",
	"v2":           "torchvision/transforms/v2/functional/",
	"color":        "torchvision/transforms/v2/functional/_color.py",
}

// recordedFunctions returns the functions that the client records as operations, by module.
func recordedFunctions(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, operation := range operations {
		for function := range strings.FieldsSeq(operation.functions) {
			module, function, _ := strings.Cut(function, ".")
			if modules[module] == "" {
				t.Errorf("%s: %s.%s: modules of this test does not have the file of %[2]s", name, module, function)
			}
			if !slices.Contains(found[module], function) {
				found[module] = append(found[module], function)
			}
		}
	}
	for _, functions := range found {
		slices.Sort(functions)
	}
	return found
}

// TestFunctionsOfOperations writes what diagnose and the manual have of the table of operations.
func TestFunctionsOfOperations(t *testing.T) {
	found := recordedFunctions(t)
	var lines []string
	for module, functions := range found {
		lines = append(lines, modules[module]+" "+strings.Join(functions, " ")+"\n")
	}
	slices.Sort(lines)
	golden.Open(t, "../../diagnose/live", ".txt").Check(t, "recorded", strings.Join(lines, ""))

	page := "| module of Pillow | functions that wait |\n|---|---|\n"
	for _, module := range []string{"Image", "ImageEnhance", "ImageOps"} {
		var words []string
		for _, function := range found[module] {
			switch module + "." + function {
			case "Image.filter":
				words = append(words, "`filter` with `GaussianBlur`")
			case "ImageEnhance.enhance":
				words = append(words, "`enhance` of every class")
			default:
				words = append(words, "`"+function+"`")
			}
		}
		page += "| `" + module + "` | " + strings.Join(words, ", ") + " |\n"
	}
	golden.CheckPart(t, "../../docs/loader.md", "operations", page)
}

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

// The client records and tries each operation that a library's function becomes, and no others.
func TestOperationsAreRecordedAndTried(t *testing.T) {
	const deferred = "python/stoker/deferred/"
	makers := findMakers(t, readAll(t, deferred+"recipes/pictures.py"), readAll(t, deferred+"torchvision/vision.py"))
	tries := readAll(t, deferred+"materialize/trials.py", deferred+"torchvision/vision_trials.py")
	for name, operation := range operations {
		if operation.functions == "" {
			continue
		}
		if !slices.Contains(makers, name) {
			t.Errorf("%s: PILLOW_OPERATIONS of recipes/pictures.py and NAMES of torchvision/vision.py lack it", name)
		}
		if !quotes(tries, name) {
			t.Errorf("%s: materialize/trials.py and torchvision/vision_trials.py do not try it", name)
		}
	}
	for _, name := range makers {
		if operations[name].functions == "" {
			t.Errorf("%s: the client records it, and operations.go names no function that becomes it", name)
		}
	}
}

// findMakers returns the operations that the client can compute with the libraries: PILLOW_OPERATIONS and NAMES.
func findMakers(t *testing.T, pillow, vision string) (names []string) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^    "(\w+)": `).FindAllStringSubmatch(between(pillow, "PILLOW_OPERATIONS: dict", "\n}\n"), -1)
	found = append(found, regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(between(vision, "\nNAMES = (", ")"), -1)...)
	for _, m := range found {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("only %v: the test reads the wrong place", names)
	}
	return names
}

// between returns the text between two marks; "" if one is missing.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	found, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return found
}
