package feed

import (
	"math"
	"strings"
	"testing"
)

func TestSpecRefusals(t *testing.T) {
	good := Spec{Name: "train", Root: "/data", Batch: 4, World: 2}.withDefaults()
	must(t, good.checkSpec())
	for want, change := range map[string]func(*Spec){
		"name is empty":         func(s *Spec) { s.Name = "" },
		"an absolute path":      func(s *Spec) { s.Root = "data" },
		"batch of 0":            func(s *Spec) { s.Batch = 0 },
		"batch of -1":           func(s *Spec) { s.Batch = -1 },
		"world of -1":           func(s *Spec) { s.World = -1 },
		`tail "keep"`:           func(s *Spec) { s.Tail = "keep" },
		`on_error is "ignore"`:  func(s *Spec) { s.OnError = "ignore" },
		"max_bad is -1":         func(s *Spec) { s.MaxBad = -1 },
		"max_bad is NaN":        func(s *Spec) { s.MaxBad = math.NaN() },
		"depth is 1":            func(s *Spec) { s.Depth = 1 },
		"depth is 65":           func(s *Spec) { s.Depth = 65 },
		`extensions has ".JPG"`: func(s *Spec) { s.Extensions = []string{".png", ".JPG"} },
		`extensions has ""`:     func(s *Spec) { s.Extensions = []string{""} },
		`extensions has "/x"`:   func(s *Spec) { s.Extensions = []string{"/x"} },
	} {
		spec := good
		change(&spec)
		if err := spec.checkSpec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", spec, err, want)
		}
	}
}
