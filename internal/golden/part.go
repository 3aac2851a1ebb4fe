package golden

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// CheckPart compares got with a generated part of a page that is otherwise written by hand: the
// lines between "<!-- begin NAME" and "<!-- end NAME". With -update it rewrites that part.
func CheckPart(t *testing.T, file, name, got string) {
	t.Helper()
	if err := checkPart(file, name, got, *update); err != nil {
		t.Error(err)
	}
}

func checkPart(file, name, got string, rewrite bool) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- begin "+name+" ", "<!-- end "+name+" "
	before, rest, found := strings.Cut(string(page), begin)
	mark, rest, ended := strings.Cut(rest, "\n")
	part, after, closed := strings.Cut(rest, end)
	if !found || !ended || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, begin, end)
	}
	if part == got {
		return nil
	}
	if rewrite {
		return os.WriteFile(file, []byte(before+begin+mark+"\n"+got+end+after), 0o644)
	}
	return fmt.Errorf("%s, part %q, is not what the program has (go test -update rewrites it):\n%s", file, name,
		firstDifference(part, got))
}
