//go:build !linux

package main

import "errors"

func (a *app) runHooked([]string, map[string]string) error {
	return errors.New("tune --plan runs commands on Linux only")
}

func (a *app) runUntuned(why string, _ []string) error { return errors.New(why) }
