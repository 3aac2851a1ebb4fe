package cli

import "io"

// App is what every verb shares.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	colour         string // auto, always, never
	verb           string // as it was called: "stoker predict"
	Began          bool   // a verb's own work has begun: later errors are not about usage
}
