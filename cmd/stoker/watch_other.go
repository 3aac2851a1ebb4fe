//go:build !unix

package main

func shellBehind() bool { return false }
