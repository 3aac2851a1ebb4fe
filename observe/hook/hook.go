// Package hook holds the start-up hook: one Python file that observe puts first
// on PYTHONPATH, so that it runs inside the observed program. What it does, and
// the protocol in which it reports, stands at the top of that file; package
// observe/step reads the reports.
//
// The package only carries the file into the binary.
package hook

import _ "embed" // for Source

// Source is the text of sitecustomize.py.
//
//go:embed sitecustomize.py
var Source []byte
