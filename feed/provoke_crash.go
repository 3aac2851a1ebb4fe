//go:build stokercrash

package feed

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// crashes are ways in which a decoder could fail, for bench/loader/deaths.py. With the build
// tag stokercrash a daemon fails in the way that a file's content asks for. The first three end
// a picture, the others end the process.
var crashes = map[string]func(){
	"panic": func() { panic("provoked") },
	"nil":   func() { *(*int)(nil) = 1 },
	"wild":  func() { *(*int)(unsafe.Add(unsafe.Pointer(nil), 0xdead0000)) = 1 },
	"ill":   illegal,
	"oom":   func() { _ = make([]byte, 1<<45) },
}

// provoke fails in the way that the file asks for, if it does.
func provoke(file []byte) {
	for name, crash := range crashes {
		if bytes.Contains(file, []byte("stoker-crash:"+name)) {
			crash()
		}
	}
}

// illegal runs an instruction that no processor has.
func illegal() {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	copy(code, []byte{0x0f, 0x0b})
	entry := unsafe.Pointer(&code[0])
	function := unsafe.Pointer(&entry)
	(*(*func())(unsafe.Pointer(&function)))()
}
