//go:build !linux

package leash

func guard(string) (release func(), err error) { return func() {}, nil }
func end(string)                               {}
func unmount(string)                           {}
