//go:build !linux

package main

import (
	"context"
	"errors"
)

func (a *app) runAgent(context.Context, agentFlags) error {
	return errors.New("agent watches nodes on Linux only")
}
