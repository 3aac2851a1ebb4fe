package cli

import "io"

// App holds the streams and settings that all verbs share.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	colour         string // auto, always, never
	verb           string // as it was called: "stoker predict"
	Began          bool   // the verb has begun its work: later errors are not about usage
}
