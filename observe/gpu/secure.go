package gpu

import (
	"encoding/binary"
	"os"
	"strconv"
)

// secureProcess reports whether this process has rights that its user does not
// have (setuid, setgid, file capabilities): then nothing that the user sets may
// decide which code is loaded. The kernel says so in the auxiliary vector, as
// AT_SECURE. Where that cannot be read the answer is yes: a process with file
// capabilities may be kept from reading its own.
func secureProcess() bool {
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return true
	}
	vector, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return true
	}
	return atSecure(vector)
}

// atSecure finds AT_SECURE in an auxiliary vector: pairs of words, type and
// value, up to AT_NULL (getauxval(3)).
func atSecure(vector []byte) bool {
	const (
		atNull   = 0
		atSECURE = 23
		word     = strconv.IntSize / 8
	)
	get := func(b []byte) uint64 {
		if word == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	for ; len(vector) >= 2*word; vector = vector[2*word:] {
		switch get(vector) {
		case atSECURE:
			return get(vector[word:]) != 0
		case atNull:
			return true
		}
	}
	return true
}
