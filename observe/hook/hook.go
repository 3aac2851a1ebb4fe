// Package hook holds the start-up hook: Python files in a folder that observe puts
// first on PYTHONPATH, so that sitecustomize.py runs inside the observed program.
// What it does, and the protocol in which it reports, stands at the top of that
// file; package observe/step reads the reports. The other files are its parts: it
// loads them itself, once torch is there.
//
// The package only carries the files into the binary.
package hook

import "embed"

// Files are the hook's Python files, all in one folder.
//
//go:embed *.py
var Files embed.FS
