package machinecode

import (
	"encoding/hex"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSets names the set of single instructions.
func TestSets(t *testing.T) {
	for _, c := range []struct {
		code, what string
		set        InstructionSet
	}{
		{"66 0f fe c1", "paddd xmm0, xmm1", ""},
		{"c5 f9 fe c1", "vpaddd xmm0, xmm0, xmm1", AVX},
		{"c5 fd fe c1", "vpaddd ymm0, ymm0, ymm1", AVX2},
		{"62 e1 2d 28 fe c1", "vpaddd ymm16, ymm10, ymm1: what idctBesideAVX2 once had", AVX512},
		{"c5 fc 58 c1", "vaddps ymm0, ymm0, ymm1", AVX},
		{"c4 e2 7d 18 00", "vbroadcastss ymm0, [rax]", AVX},
		{"c4 e2 7d 18 c1", "vbroadcastss ymm0, xmm1", AVX2},
		{"c4 e2 75 b8 c2", "vfmadd231ps ymm0, ymm1, ymm2", FMA},
		{"c4 e3 7d 1d c1 00", "vcvtps2ph xmm1, ymm0, 0", F16C},
		{"c4 e2 f3 f7 c0", "shrx rax, rax, rcx", BMI2},
		{"c4 e2 f0 f7 c0", "bextr rax, rax, rcx", BMI1},
		{"f3 48 0f bc c1", "tzcnt rax, rcx", BMI1},
		{"48 0f bc c1", "bsf rax, rcx", ""},
		{"f3 48 0f b8 c1", "popcnt rax, rcx", POPCNT},
		{"66 0f 38 00 c1", "pshufb xmm0, xmm1", SSSE3},
		{"66 0f 3a 16 c1 01", "pextrd ecx, xmm0, 1", SSE41},
		{"48 c7 84 24 80 00 00 00 01 00 00 00", "mov qword [rsp+128], 1", ""},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		n, set, ok := decode("amd64", code)
		if n != len(code) || set != c.set || !ok {
			t.Errorf("%s (%s): %d bytes of %q, known %t; expected %d of %q", c.what, c.code, n, set, ok, len(code), c.set)
		}
	}
	for _, c := range []string{"06", "c4 e2 7d ff c0", "0f 38 f8 00", "c5"} {
		code, _ := hex.DecodeString(strings.ReplaceAll(c, " ", ""))
		if n, set, ok := decode("amd64", code); ok {
			t.Errorf("%s: %d bytes of %q, but no table has it", c, n, set)
		}
	}
}

// TestSetsMatchObjdump decodes all assembly that is linked into these tests, Go's own
// with AVX-512 and all: where instructions end, and which of them need a set that their
// names and registers tell, binutils says as well.
func TestSetsMatchObjdump(t *testing.T) {
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("no objdump here (Debian: binutils)")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	functions, arch, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if arch != "amd64" {
		t.Skip("no table for " + arch)
	}
	seen := map[InstructionSet]int{}
	for _, f := range functions {
		if !f.Assembly || f.Name == "crypto/internal/boring/sig.StandardCrypto" {
			continue // the latter has unreachable marker bytes after a jump
		}
		at := 0
		for _, line := range disassemble(t, f.Code) {
			n, set, ok := decode(arch, f.Code[at:])
			if want := setOf(line.text); !ok || line.at != at || want != "?" && want != set {
				t.Fatalf("%s+%#x: % x: %d bytes of %q, known %t; objdump has %s at %#x", f.Name, at, f.Code[at:min(at+12, len(f.Code))], n, set, ok, line.text, line.at)
			}
			at += n
			seen[set]++
		}
	}
	for _, set := range []InstructionSet{"", AVX, AVX2, AVX512, BMI2, SSSE3} {
		if seen[set] == 0 {
			t.Errorf("no instruction of %q was compared: %v", set, seen)
		}
	}
}

type instruction struct {
	at   int
	text string // without the bytes, "vpaddd %ymm1,%ymm10,%ymm16"
}

func disassemble(t *testing.T, code []byte) (list []instruction) {
	t.Helper()
	path := t.TempDir() + "/code"
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-w", "--no-show-raw-insn", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if address, text, ok := strings.Cut(strings.TrimSpace(line), ":\t"); ok {
			at, err := strconv.ParseInt(address, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, instruction{int(at), text})
		}
	}
	return list
}

var (
	beyond15 = regexp.MustCompile(`%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]`)
	names    = []struct {
		pattern *regexp.Regexp
		set     InstructionSet // "?": the name does not tell
	}{
		{regexp.MustCompile(`^vfn?m(add|sub)`), FMA},
		{regexp.MustCompile(`^vcvt(ph2ps|ps2ph)`), F16C},
		{regexp.MustCompile(`^(shlx|shrx|sarx|rorx|mulx|pdep |pext |bzhi)`), BMI2},
		{regexp.MustCompile(`^(andn |blsr|blsi|blsmsk|bextr|tzcnt)`), BMI1},
		{regexp.MustCompile(`^(v?aes|v?pclmul|v?gf2|v?sha)`), "?"},
		{regexp.MustCompile(`^popcnt`), POPCNT},
		{regexp.MustCompile(`^lzcnt`), LZCNT},
		{regexp.MustCompile(`^crc32`), SSE42},
		{regexp.MustCompile(`^(adcx|adox)`), ADX},
		{regexp.MustCompile(`^movbe`), MOVBE},
		{regexp.MustCompile(`^(pshufb|palignr|pabs|psign|pmaddubsw)`), SSSE3},
		{regexp.MustCompile(`^v(ptest|permil|perm2f|test)`), AVX},
		{regexp.MustCompile(`^v(p(broadcast|erm|s[lr][al]v|blendd)|inserti128|extracti128|broadcasti128)`), AVX2},
		{regexp.MustCompile(`^vp.*%ymm`), AVX2},
		{regexp.MustCompile(`^vbroadcast`), "?"},
		{regexp.MustCompile(`^v`), AVX},
		{regexp.MustCompile(`^(mov|add|sub|xor|and|or|cmp|test|lea|j[a-z]+|call|ret|shl|shr|sar|imul|mul|push|pop|bswap|p(add|sub|xor|and|or|cmpeq|sll|srl|shufd))[bwlqd]* `), ""},
	}
)

// setOf is what an instruction's name and registers tell of its set.
func setOf(text string) InstructionSet {
	if beyond15.MatchString(text) {
		return AVX512
	}
	for _, n := range names {
		if n.pattern.MatchString(text) {
			return n.set
		}
	}
	return "?"
}

// TestReadRefuses checks the error for a file that is not a Go program.
func TestReadRefuses(t *testing.T) {
	path := t.TempDir() + "/x"
	if err := os.WriteFile(path, slices.Repeat([]byte("no program "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(path); err == nil {
		t.Error("a text is read as a program")
	}
	if _, _, err := Read("/bin/true"); err == nil || !strings.Contains(err.Error(), "/bin/true") {
		t.Errorf("a program of C: %v", err)
	}
}
