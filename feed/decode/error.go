package decode

import "fmt"

// Kind says what is wrong with a sample.
type Kind string

// The kinds of bad samples.
const (
	Empty       Kind = "empty"       // 0 bytes
	WrongType   Kind = "wrong type"  // no image format that is read here
	Truncated   Kind = "truncated"   // the file ends before the image does
	Damaged     Kind = "damaged"     // the bytes contradict the format
	TooLarge    Kind = "too large"   // a limit was hit: pixels, scans, time
	Unsupported Kind = "unsupported" // a valid image of a kind that is not read: 12-bit, arithmetic
)

// Error is why a sample is bad. Who knows the file's name puts it in front.
type Error struct {
	Kind   Kind
	Offset int64  // byte in the file, -1 where it means nothing
	Text   string // what was found and what was expected
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.Kind, e.Text)
	}
	return fmt.Sprintf("%s at byte %d: %s", e.Kind, e.Offset, e.Text)
}
