package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKernelsMatchC makes the assembly again by the go:generate lines and compares it with the
// committed one.
func TestKernelsMatchC(t *testing.T) {
	have := compilerOf(t)
	lines, err := os.ReadFile("../generate.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`go run \./neon -out (\S+) -pkg (\w+) (.*)`).FindAllStringSubmatch(string(lines), -1)
	if len(found) != 6 {
		t.Fatalf("generate.go calls this %d times, expected 6", len(found))
	}
	for _, m := range found {
		out, files := filepath.Join("..", m[1]), strings.Fields(m[3])
		for i, file := range files {
			files[i] = filepath.Join("..", file)
		}
		want, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(want, []byte("with GCC "+have+".")) {
			t.Skipf("%s was made by another GCC than %s, which may choose other instructions", out, have)
		}
		wantStubs, err := os.ReadFile(stubsOf(out))
		if err != nil {
			t.Fatal(err)
		}
		assembly, stubs, err := convert(m[2], files)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(assembly, want) || !bytes.Equal(stubs, wantStubs) {
			t.Errorf("%s is not what %s becomes: go generate ./feed/kernels", out, m[3])
		}
	}
}

// compilerOf is the version of the compiler.
func compilerOf(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(compiler, "-dumpfullversion").Output()
	if err != nil {
		t.Skipf("no %s here (Debian: gcc-aarch64-linux-gnu)", compiler)
	}
	return strings.TrimSpace(string(out))
}

// TestUnfitCodeIsRefused: C that Go cannot call is an error.
func TestUnfitCodeIsRefused(t *testing.T) {
	compilerOf(t)
	for _, c := range []struct{ body, want string }{
		{"*p = 1;", ""},
		{"volatile long a[9]; a[1] = *p; *p = a[1];", "no stack"},
		{"extern long other(long *); *p = other(p) + 1;", ".rela.text"},
		{"static const long table[] = {5, 1, 7, 3}; *p = table[*p & 3];", ".rela.text"},
		{"*(int32x4_t *)p = (int32x4_t){1, 3, 9, 8};", "beside the code"},
		{"__asm__ volatile(\"mov x28, x0\" : : \"r\"(p));", "register of Go"},
		{"__asm__ volatile(\"sdot v0.4s, v1.16b, v2.16b\" : : \"r\"(p));", "does not support"},
	} {
		file := filepath.Join(t.TempDir(), "x.c")
		source := "//gcc -O2\n#include <arm_neon.h>\n\n// f is a test.\n//go:noescape\n//func f(p *int)\nvoid f(long *p);\nvoid f(long *p) { " + c.body + " }\n"
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := convert("x", []string{file})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", c.body, err, c.want)
		}
	}
	for _, parameters := range []string{"a byte", "a int, b int, c int, d int, e int, f int, g int, h int, i int"} {
		if _, _, err := loadsOf(parameters); err == nil {
			t.Errorf("func(%s): no error", parameters)
		}
	}
	if loads, size, err := loadsOf("a *byte, b int32, c int32, d int32, e int"); size != 32 || err != nil || loads[4] != "MOVD e+24(FP), R4" {
		t.Errorf("%v %d %v", loads, size, err)
	}
}
