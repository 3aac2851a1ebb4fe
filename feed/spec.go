package feed

import "github.com/stoker-dev/stoker/feed/transform"

// Spec is the program of one loader: the processing of a sample, and in which order samples
// come. The client sends it as JSON; all ranks send the same.
type Spec struct {
	Name string `json:"name"` // of the loader, unique within a job: "train", "loader-1"
	// folder with one subfolder per class, as torchvision's ImageFolder, or a pack of one
	Root string `json:"root"`
	// SHA-256 of Options.List, in hexadecimal digits; "": the folder is listed
	List       string           `json:"list,omitempty"`
	Extensions []string         `json:"extensions,omitempty"` // default: torchvision's IMG_EXTENSIONS
	AllowEmpty bool             `json:"allow_empty,omitempty"`
	Samples    []int            `json:"samples,omitempty"` // a torch Subset: indices into the folder's list; nil: all
	Ops        []transform.Op   `json:"ops"`
	Output     transform.Output `json:"output"`

	Batch   int    `json:"batch"` // samples per rank and step
	World   int    `json:"world"` // ranks
	Seed    uint64 `json:"seed"`
	Shuffle bool   `json:"shuffle"`
	Tail    string `json:"tail"` // "drop", "pad", "short", "even", "trim", "even-drop"

	OnError string `json:"on_error"` // "fail", "substitute", "mask"
	// share of an epoch's samples that may be bad, default 0.001 (at least 1 sample)
	MaxBad float64 `json:"max_bad,omitempty"`
	Depth  int     `json:"depth,omitempty"` // slots per rank, default 4

	// MaxPixels is the largest image that is not a bad sample. 0 means Pillow's own limit, or
	// the largest image that the daemon's memory has room for if that is less.
	MaxPixels int `json:"max_pixels,omitempty"`
}
