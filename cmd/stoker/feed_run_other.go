//go:build !linux

package main

import "errors"

func (a *app) runFed(feedFlags, []string) error {
	return errors.New("feed runs commands on Linux only")
}
