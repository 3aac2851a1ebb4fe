package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/quantity"
)

// ReadQuantity reads a flag's text that must be more than 0 and within the flag's limits; its error names
// the flag.
func ReadQuantity[Q interface {
	~float64
	fmt.Stringer
}](flag, text string, read func(string) (Q, error),
) (Q, error) {
	q, err := read(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", flag, err)
	}
	if err := quantity.Positive("--"+flag, q); err != nil {
		return q, err
	}
	return q, checkLimit(flag, float64(q), func(v float64) string { return Q(v).String() })
}

// ReadStorage is a row of the table, or a rate where the text begins with a number.
func ReadStorage(text string) (hardware.Storage, error) {
	if row, known := hardware.FindStorage(text); known {
		return row, nil
	}
	rate, err := ReadRate("storage", text, hardware.Known.StorageNames())
	return hardware.Storage{Rate: hardware.Figure{Value: float64(rate), Source: given}}, err
}

// ReadRate is a rate, where a text that is no row's name begins with a number.
func ReadRate(flag, text string, names []string) (quantity.Rate, error) {
	if !strings.ContainsAny(text[:1], "0123456789.-") {
		return 0, UnknownName(flag, text, names)
	}
	return ReadQuantity(flag, text, quantity.ParseRate)
}

// FindGPU finds the row of a GPU that a flag names. Of one that has several kinds it is the
// usual one, and a line says so.
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

// unknownKind is the error for a GPU that the table lacks; if its family is known, it lists the kinds.
func unknownKind(flag, name string, table hardware.Table) error {
	family, _, _ := strings.Cut(strings.ToLower(name), "-")
	same := func(key string) bool { return strings.HasPrefix(key, family+"-") }
	usual, kinds, known := table.FindKind(family)
	if slices.ContainsFunc(hardware.Nearest(name, table.GPUNames()), same) || !known {
		return unlistedGPU(name, UnknownName(flag, name, table.GPUNames()), table) // a slip
	}
	kinds = slices.DeleteFunc(kinds, func(key string) bool { return key == usual.Name })
	return unlistedGPU(name, fmt.Errorf("--%s %q is not in the table, nearest: %s", flag, name,
		strings.Join(append([]string{usual.Name}, kinds...), ", ")), table)
}

// unlistedGPU adds how a GPU gets into the table. If no name is near, that is the hint too.
func unlistedGPU(name string, err error, table hardware.Table) error {
	err = fmt.Errorf("%w, or give its row in a file: --hardware FILE (hardware/README.md)", err)
	if len(hardware.Nearest(name, table.GPUNames())) > 0 {
		return err
	}
	return hint.Attach(err, "stoker predict --list gpus")
}

// UnknownName is the error for a name that a table lacks; it lists the nearest names.
func UnknownName(flag, name string, known []string) error {
	if near := hardware.Nearest(name, known); len(near) > 0 {
		return fmt.Errorf("--%s %q is not in the table, nearest: %s", flag, name, strings.Join(near, ", "))
	}
	return fmt.Errorf("--%s %q is not in the table: %s", flag, name, strings.Join(known, ", "))
}
