// Package hook holds the start-up hook of `stoker feed -- CMD`: one Python file that
// the command puts first on PYTHONPATH. What it does stands at its top.
package hook

import _ "embed" // for Source

// Source is the text of sitecustomize.py.
//
//go:embed sitecustomize.py
var Source []byte
