// Package hook holds the Python that runs inside other people's programs.
// It only carries the files into the binary.
package hook

import (
	"embed"
	"io/fs"
)

var (
	// Files are the start-up hook of observe and tune: Python files in a folder
	// that is put first on PYTHONPATH, so that sitecustomize.py runs inside the
	// program. If it has work it loads hook.py, whose head says its purpose,
	// and the others are its parts. Package observe/step reads what they report.
	//
	//go:embed *.py
	Files embed.FS

	//go:embed feed/*.py
	feed embed.FS

	// Patch is the script that finds a call in another script's syntax tree.
	//
	//go:embed patch/patch.py
	Patch string
)

// Feed is the folder of the start-up hook of `stoker feed -- CMD`.
func Feed() fs.FS {
	folder, _ := fs.Sub(feed, "feed") // fails for an invalid name
	return folder
}
