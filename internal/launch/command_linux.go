package launch

import (
	"os"
)

// Command is a command to start. Path is the program, Words its name and arguments. It runs in
// Dir, "" for the current directory. A nil file is closed for it.
type Command struct {
	Path  string
	Words []string
	Env   []string
	Dir   string
	Files []*os.File // its standard streams
	// starts it in a new session, with the signals in ending not ignored; it is terminated when
	// this process ends
	Apart bool
}
