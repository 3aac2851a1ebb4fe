//go:build !linux

package main

import "errors"

func (a *app) runApplied([]string, map[string]string) error {
	return errors.New("apply runs commands on Linux only")
}
