package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/quantity"
)

// ReadStorage returns the class of storage of that name, or a rate if the text begins with a digit.
func ReadStorage(text string) (hardware.Storage, error) {
	if row, known := hardware.FindStorage(text); known {
		return row, nil
	}
	rate, err := ReadRate("storage", text, hardware.Known.StorageNames())
	return hardware.Storage{Rate: hardware.Figure{Value: float64(rate), Source: given}}, err
}

// ReadRate parses a rate. A text that does not begin with a digit is an unknown name.
func ReadRate(flag, text string, names []string) (quantity.Rate, error) {
	if !strings.ContainsAny(text[:1], "0123456789.-") {
		return 0, UnknownName(flag, text, names)
	}
	return ReadQuantity(flag, text, quantity.ParseRate)
}

// FindGPU finds the GPU that a flag names. If the name has several variants, it returns the usual one and
// says so.
func FindGPU(flag, name string, table hardware.Table, say func(format string, args ...any)) (hardware.GPU, error) {
	if gpu, known := table.FindGPU(name); known {
		return gpu, nil
	}
	gpu, kinds, known := table.FindKind(name)
	if !known {
		return gpu, unknownKind(flag, name, table)
	}
	if len(kinds) > 1 {
		say("--%s %s: assumed to be %s. Its kinds are %s", flag, name, gpu.Name, strings.Join(kinds, ", "))
	}
	return gpu, nil
}

// unknownKind returns the error for a GPU that is not in the table. It lists the variants of a
// known family.
func unknownKind(flag, name string, table hardware.Table) error {
	family, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(name), " ", "-"), "-")
	same := func(key string) bool { return strings.HasPrefix(key, family+"-") }
	usual, kinds, known := table.FindKind(family)
	if slices.ContainsFunc(hardware.Nearest(name, table.GPUNames()), same) || !known {
		return unlistedGPU(name, UnknownName(flag, name, table.GPUNames()), table) // a typing error
	}
	kinds = slices.DeleteFunc(kinds, func(key string) bool { return key == usual.Name })
	return unlistedGPU(name, fmt.Errorf("--%s %q is not in the table, nearest: %s", flag, name,
		strings.Join(append([]string{usual.Name}, kinds...), ", ")), table)
}

// unlistedGPU adds to the error how to describe a GPU in a file. Without a similar name, the hint says so too.
func unlistedGPU(name string, err error, table hardware.Table) error {
	err = fmt.Errorf("%w, or give its row in a file: --hardware FILE (hardware/README.md)", err)
	if len(hardware.Nearest(name, table.GPUNames())) > 0 {
		return err
	}
	return hint.Attach(err, "stoker predict --list gpus")
}

// UnknownName returns the error for a name that is not in a table. It lists similar names.
func UnknownName(flag, name string, known []string) error {
	if near := hardware.Nearest(name, known); len(near) > 0 {
		return fmt.Errorf("--%s %q is not in the table, nearest: %s", flag, name, strings.Join(near, ", "))
	}
	return fmt.Errorf("--%s %q is not in the table: %s", flag, name, strings.Join(known, ", "))
}
