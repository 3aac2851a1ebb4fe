package text_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// faces are all ways in which a judged run is shown.
var faces = map[string]func(*bytes.Buffer, *recording.Run, diagnose.Verdict, advise.Plan) error{
	"text": func(b *bytes.Buffer, r *recording.Run, v diagnose.Verdict, p advise.Plan) error {
		return text.WriteVerdict(b, r, v, p, text.Style{})
	},
	"explain": func(b *bytes.Buffer, _ *recording.Run, v diagnose.Verdict, _ advise.Plan) error {
		return text.Explain(b, v, text.Style{})
	},
	"json": func(b *bytes.Buffer, r *recording.Run, v diagnose.Verdict, p advise.Plan) error {
		return wire.WriteVerdict(b, r, v, p)
	},
	"emit": func(b *bytes.Buffer, _ *recording.Run, _ diagnose.Verdict, p advise.Plan) error {
		for _, fix := range p.Fixes {
			if err := errors.Join(emit.Torch(b, fix), emit.HF(b, fix), emit.Lightning(b, fix)); err != nil {
				return err
			}
		}
		return nil
	},
}

func TestFacesOfTheHandWrittenRuns(t *testing.T) {
	files := golden.Open(t, "testdata", ".txt")
	for _, name := range []string{"main-thread-live", "main-thread-trace", "straggler-two-ranks"} {
		run, err := recording.Open(filepath.Join("../../testdata/cases", name, "run.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		v := judge.Judge(run)
		plan := advise.Rank(run, v)
		for face, show := range faces {
			var b bytes.Buffer
			if err := show(&b, run, v, plan); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "NaN") {
				t.Errorf("%s of %s prints NaN:\n%s", face, name, b.String())
			}
			files.Check(t, name+"."+face, b.String())
		}
	}
}

// An empty run has no answer, and says so in every face.
func TestFacesOfEmptyValues(t *testing.T) {
	run := &recording.Run{}
	v := judge.Judge(run)
	plan := advise.Rank(run, v)
	for face, show := range faces {
		var b bytes.Buffer
		if err := show(&b, run, v, plan); err != nil {
			t.Fatalf("%s: %v", face, err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%s of nothing prints an unknown as a number:\n%s", face, b.String())
		}
	}
}

// Every field is present in every object, null where unknown.
func TestJSONFieldsAreAlwaysPresent(t *testing.T) {
	var b bytes.Buffer
	run := &recording.Run{}
	v := judge.Judge(run)
	if err := wire.WriteVerdict(&b, run, v, advise.Rank(run, v)); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(b.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"schema", "verdict", "evidence", "causes", "shares", "step", "plan", "warnings"} {
		if _, present := object[field]; !present {
			t.Errorf("field %q is missing", field)
		}
	}
	verdict := object["verdict"].(map[string]any)
	for _, field := range []string{"class", "confidence", "stall", "stall_source", "runner_up"} {
		if _, present := verdict[field]; !present {
			t.Errorf("field verdict.%s is missing", field)
		}
	}
	if verdict["stall"] != nil || verdict["class"] != "not-training" {
		t.Errorf("verdict of nothing: %v", verdict)
	}
}
