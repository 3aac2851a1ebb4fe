package main

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
)

// paper is one judged recording.
type paper struct {
	Binary string         `json:"binary"` // digest of the binary that judged
	Set    string         `json:"set"`    // "tune" or "test"
	Draw   int            `json:"draw"`
	Sight  string         `json:"sight"`
	Class  diagnose.Class `json:"class"` // by intervention
	Gain   float64        `json:"gain"`  // of its relief
	Said   diagnose.Class `json:"said"`
	Lead   float64        `json:"lead"` // of the best score over the second
	Util   float64        `json:"util"` // mean GPU-Util
	Busy   float64        `json:"busy"` // share of the job's cores in use

	Confidence float64 `json:"confidence"`        // of the verdict; 0 if it has none
	Blind      string  `json:"blind,omitempty"`   // why the sight does not show the class
	Pattern    string  `json:"pattern,omitempty"` // of GPU-Util, by the finding
	Scores     string  `json:"scores,omitempty"`  // the two best, of a wrong verdict
}

func (p paper) key() string { return fmt.Sprint(p.Binary, p.Set, p.Class, p.Draw, p.Sight) }

// right reports whether the verdict is the class. Kinds of gpu-bound, which need a trace, count as it.
func (p paper) right() bool { return p.Said.Is(p.Class) }

// abstains reports whether the verdict is "unknown" and the sight does not show the class.
func (p paper) abstains() bool { return p.Blind != "" && p.Said == diagnose.Unknown }
