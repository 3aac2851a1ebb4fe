//go:build linux && !nonvml

package gpu

import (
	"os"
	"testing"
)

// The stand-in for NVML is code: one that another user can write is not loaded.
func TestTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make files of others")
	}
	for name, c := range map[string]struct {
		folder                  os.FileMode
		folderOf, fileOf, binOf int
		file                    os.FileMode
		refused                 bool
	}{
		"our own":                              {0o755, 0, 0, 0, 0o755, false},
		"of the one who owns the binary":       {0o755, 4711, 4711, 4711, 0o755, false},
		"our group writes":                     {0o775, 0, 0, 0, 0o775, false},
		"another user's":                       {0o755, 0, 4711, 0, 0o755, true},
		"anybody writes":                       {0o755, 0, 0, 0, 0o777, true},
		"in another user's folder":             {0o755, 4711, 0, 0, 0o755, true},
		"in a folder of all":                   {0o777, 0, 0, 0, 0o755, true},
		"our own in a sticky folder":           {0o777 | os.ModeSticky, 0, 0, 0, 0o755, false},
		"another user's in a sticky folder":    {0o777 | os.ModeSticky, 0, 4711, 0, 0o755, true},
		"another user's, the binary a third's": {0o755, 0, 4711, 4712, 0o755, true},
	} {
		dir := t.TempDir()
		library, binary := dir+"/bin/"+systemLibrary, dir+"/bin/stoker"
		err := os.Mkdir(dir+"/bin", 0o700)
		for path, uid := range map[string]int{library: c.fileOf, binary: c.binOf} {
			if err == nil {
				err = os.WriteFile(path, nil, 0o600)
			}
			if err == nil {
				err = os.Chown(path, uid, -1)
			}
		}
		if err == nil {
			err = os.Chmod(library, c.file)
		}
		if err == nil {
			err = os.Chmod(dir+"/bin", c.folder)
		}
		if err == nil {
			err = os.Chown(dir+"/bin", c.folderOf, -1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := checkOwners(library, binary); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/real", nil, 0o600)
	_ = os.Symlink("real", dir+"/link")
	if checkOwners(dir+"/link", dir+"/real") == nil || checkOwners(dir+"/none", dir+"/real") == nil {
		t.Error("a link or nothing was trusted")
	}
}
