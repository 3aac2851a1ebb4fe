// Package machinecode finds which instruction sets the functions of a Go program need, by
// reading the program's machine code.
//
// It does not rely on a generator or on comments: a register number alone can turn an AVX2
// instruction into an AVX-512 one, which most processors with AVX2 do not have. An instruction
// that is not in the tables is an error.
//
// It does not decode operands and makes no decision: tests of cmd/stoker compare its result
// with feed/kernels. Only tests import it.
package machinecode

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Read returns the functions of an ELF program, stripped or not, and its architecture by the
// name of GOARCH.
func Read(path string) (functions []Function, arch string, err error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = file.Close() }()
	code, begin, table, err := readText(file)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	for i, f := range table.Funcs {
		source, _, _ := table.PCToLine(f.Entry)
		end := f.End
		if i+1 < len(table.Funcs) {
			end = table.Funcs[i+1].Entry
		}
		if f.Entry < begin || end < f.Entry || end-begin > uint64(len(code)) {
			return nil, "", fmt.Errorf("%s: %s is outside the program's code", path, f.Name)
		}
		functions = append(functions, Function{
			f.Name, strings.HasSuffix(source, ".s"),
			code[f.Entry-begin : end-begin],
		})
	}
	return functions, map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[file.Machine], nil
}

// readText returns a program's code, its address and the table of its functions.
func readText(file *elf.File) (code []byte, begin uint64, table *gosym.Table, err error) {
	var sections [3][]byte
	for i, name := range []string{".text", ".gopclntab", ".go.module"} {
		section := file.Section(name)
		if section == nil {
			return nil, 0, nil, fmt.Errorf("no section %s: a program of Go 1.26 or newer is expected", name)
		}
		if sections[i], err = section.Data(); err != nil {
			return nil, 0, nil, err
		}
	}
	// Addresses count from runtime.text, which code of other languages may precede. Words 0 and
	// 22 of the runtime's moduledata are the addresses of the table and of runtime.text.
	word := func(i int) uint64 { return file.ByteOrder.Uint64(sections[2][8*i:]) }
	if len(sections[2]) < 8*23 || word(0) != file.Section(".gopclntab").Addr {
		return nil, 0, nil,
			fmt.Errorf(".go.module is laid out in another way than Go 1.26 does: look at moduledata in " +
				"runtime/symtab.go")
	}
	table, err = gosym.NewTable(nil, gosym.NewLineTable(sections[1], word(22)))
	return sections[0], file.Section(".text").Addr, table, err
}

// Sets returns the instruction sets that a function's code needs, sorted.
func (f Function) Sets(arch string) (sets []InstructionSet, err error) {
	for at := 0; at < len(f.Code); {
		n, set, ok := decode(arch, f.Code[at:])
		if !ok {
			end := min(at+16, len(f.Code))
			return nil, fmt.Errorf("%s+%#x: % x: no instruction that the tables of internal/machinecode know", f.Name,
				at, f.Code[at:end])
		}
		at += n
		if set != "" && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	slices.Sort(sets)
	return sets, nil
}

// decode returns the length of the first instruction and its set.
func decode(arch string, code []byte) (n int, set InstructionSet, ok bool) {
	switch {
	case arch == "amd64":
		x := x86{code: code}
		set, ok = x.instruction()
		return x.at, set, ok && x.at <= len(code)
	case arch == "arm64" && len(code) >= 4:
		set, ok = instruction64(binary.LittleEndian.Uint32(code))
		return 4, set, ok
	}
	return 0, "", false
}
