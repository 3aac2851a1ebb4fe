package wire

import (
	"io"

	"github.com/stoker-dev/stoker/report"
)

// doctorObject holds the checks as one object.
type doctorObject struct {
	Schema  int                  `json:"schema"`
	Version string               `json:"version"`
	Checks  []report.Check       `json:"checks"`
	Kernels []report.KernelGroup `json:"kernels"`
}

// WriteChecks writes the checks, and the assembly available on this kind of processor, as one
// object.
func WriteChecks(w io.Writer, version string, checks []report.Check, kernels []report.KernelGroup) error {
	return WriteObject(w, doctorObject{schema, version, checks, kernels})
}
