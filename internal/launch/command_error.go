package launch

// CommandError says that a command could not be started for a reason of the command: it would
// not start without Stoker either.
type CommandError struct {
	NotFound    bool   // the command, or the interpreter it names, does not exist; false if it cannot be executed
	Interpreter string // the interpreter, if it is at fault
	Err         error
}

// Error returns the sentence for the user.
func (e *CommandError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// ExitCode returns the exit code that shells and timeout(1) use for the error.
func (e *CommandError) ExitCode() int {
	if e.NotFound {
		return 127
	}
	return 126
}
