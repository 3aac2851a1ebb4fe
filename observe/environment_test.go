package observe

import (
	"strings"
	"testing"
)

func TestShutOut(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py":                    "",
		"python -u train.py -I":              "",
		"python3.12 -I train.py":             "-I",
		"/usr/bin/python -uE train.py":       "-E",
		"torchrun --x python -S a":           "-S",
		"sh run.sh":                          "",
		"python -m torch.distributed.run -E": "",
		"python -W ignore -S a.py":           "-S",
		"python -Wignore a.py":               "",
		"python -c import -I":                "",
		"python -X importtime -I a.py":       "-I",
	} {
		if got := shutOut(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
