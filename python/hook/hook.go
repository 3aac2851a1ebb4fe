// Package hook embeds the Python files that run inside the observed programs.
package hook

import (
	"embed"
	"io/fs"
)

var (
	// Files are the hook of observe and tune. Their folder is put first on PYTHONPATH, so that
	// sitecustomize.py runs when the program starts. If there is something to do, it loads hook.py,
	// which describes the hook; the other files are parts of it. Package observe/step reads their
	// reports.
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
	folder, _ := fs.Sub(feed, "feed") // it fails only for an invalid name
	return folder
}
