package launch

// CommandError says that a command could not be started, for a cause that is its own:
// without us it could not be started either.
type CommandError struct {
	NotFound    bool   // it, or the interpreter that it names, is not there; else it cannot be executed
	Interpreter string // what runs it, where that is at fault
	Err         error
}

// Error is the sentence for the user.
func (e *CommandError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// ExitCode is the exit code that shells and timeout(1) use for it.
func (e *CommandError) ExitCode() int {
	if e.NotFound {
		return 127
	}
	return 126
}
