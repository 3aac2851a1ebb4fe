package stoker_test

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestChecksElsewhere checks the types of all packages and their tests on systems and processors that this machine may not
// be. It reads sources and compiles nothing: `go vet` would first compile SQLite for each of them, two minutes on a core.
func TestChecksElsewhere(t *testing.T) {
	for _, at := range [][2]string{{"darwin", "arm64"}, {"windows", "amd64"}, {"linux", "arm64"}} {
		t.Run(at[0]+"-"+at[1], func(t *testing.T) {
			config := &packages.Config{
				Mode:  packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
				Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+at[0], "GOARCH="+at[1]),
				Tests: true,
			}
			found, err := packages.Load(config, "./...")
			if err != nil {
				t.Fatal(err)
			}
			packages.Visit(found, nil, func(one *packages.Package) {
				for _, fault := range one.Errors {
					t.Errorf("%s: %v", one.ID, fault)
				}
			})
		})
	}
}
