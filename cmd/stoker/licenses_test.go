package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestLicenses compares the texts with the modules of this binary.
func TestLicenses(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Fatal("this binary does not say of what it was built")
	}
	_, licenses, _ := call(t, "licenses")
	for _, module := range info.Deps {
		if name := module.Path + " " + module.Version; !strings.Contains(licenses, "\n"+name+" (LICENSE") {
			t.Errorf("no licence of %s: make licenses", name)
		}
	}
}
