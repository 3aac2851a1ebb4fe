//go:build !linux

package leash

import "os"

func guard(...string) (*os.File, error) { return os.OpenFile(os.DevNull, os.O_WRONLY, 0) }
func privateFolder(other string) string { return other }
func end(string)                        {}
func unmount(string)                    {}
