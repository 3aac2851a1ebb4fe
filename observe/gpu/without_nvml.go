//go:build !linux || nonvml

package gpu

import "errors"

// openNVML has nothing to open: a static binary cannot load a library, and
// elsewhere than on Linux there is nothing to observe.
func openNVML(Options, loadHooks, *absences) (source, error) {
	return nil, errors.New("this build of stoker is without NVML")
}
