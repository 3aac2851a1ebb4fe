package wire

import (
	"encoding"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/feed/check"
	"github.com/stoker-dev/stoker/feed/pack"
	"github.com/stoker-dev/stoker/feed/pack/shards"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/tune"
)

// objects are what verbs print with --json; docs/schema has a schema of each.
var objects = map[string]any{
	"diagnose": diagnosis{}, "verify": outcomeObject{}, "trace": traceObject{}, "trace-compare": tracesObject{},
	"predict": prediction{}, "predict-tutorial": tutorialObject{}, "doctor": doctorObject{}, "runs": runsObject{},
	"predict-train": trainingObject{}, "predict-worth": worthObject{}, "predict-serve": servingObject{}, "predict-serve-run": loadsObject{},
	"predict-fleet": fleetObject{},
	"pack":          shards.Index{}, "pack-shard": shards.Shard{}, "pack-dry-run": pack.Estimate{},

	// What follows is put together by cmd; its TestEveryJSONHasASchema holds it against these.
	"tune": struct {
		Schema int `json:"schema"`
		tune.Result
		Patch string   `json:"patch"`
		Left  []string `json:"left"`
	}{},
	"feed-check": struct {
		Schema int `json:"schema"`
		check.Report
	}{},
	"predict-transformation": struct {
		Schema      int     `json:"schema"`
		Transform   float64 `json:"transform_time_s"`
		Accelerator float64 `json:"accelerator_step_time_s"`
		Step        float64 `json:"step_time_s"`
		Bottleneck  bool    `json:"is_bottleneck"`
		Utilization float64 `json:"accelerator_utilization"`
		Slowdown    float64 `json:"slowdown_factor"`
	}{},
	"predict-list": map[string]any{ // a list under its name: "gpus", "models"
		"type": "object", "required": []string{"schema"}, "properties": map[string]any{"schema": map[string]any{"type": "integer"}},
		"additionalProperties": map[string]any{"type": "array", "items": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}},
	},
	"predict-data": struct {
		Schema      int      `json:"schema"`
		Demand      *float64 `json:"demand_bytes_per_s"`
		Supply      *float64 `json:"supply_bytes_per_s"`
		AtMost      *float64 `json:"at_most_bytes_per_s"`
		Utilization *float64 `json:"utilization"`
		Margin      *float64 `json:"margin_bytes_per_s"`
		Stalled     *bool    `json:"is_stalled"`
		Bound       *string  `json:"bound"`
	}{},
}

// The published schemas are of the types as they are (make golden writes them).
func TestSchemas(t *testing.T) {
	files := golden.Open(t, "../../docs/schema", ".json")
	for name, o := range objects {
		d := definitions{}
		s, written := o.(map[string]any)
		if !written {
			s = d.fields(reflect.TypeOf(o))
		}
		s["$schema"], s["title"], s["$defs"] = "https://json-schema.org/draft/2020-12/schema", "stoker "+name+" --json", d
		text, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		files.Check(t, name, string(text)+"\n")
	}
}

// definitions are the schemas of types that have a name.
type definitions map[string]any

var marshalsText = reflect.TypeFor[encoding.TextMarshaler]()

// of describes what encoding/json makes of a type: pointers, lists and maps may be null.
func (d definitions) of(t reflect.Type) map[string]any {
	kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer", reflect.Float64: "number"}
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[stoker.Interval](), t == reflect.TypeFor[*stoker.Interval]():
		return d.interval()
	case t.Implements(marshalsText):
		return map[string]any{"type": "string"}
	case kind == reflect.Pointer:
		return map[string]any{"anyOf": []any{d.of(t.Elem()), map[string]any{"type": "null"}}}
	case kind == reflect.Slice || kind == reflect.Array:
		return map[string]any{"type": []string{"array", "null"}, "items": d.of(t.Elem())}
	case kind == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": d.of(t.Elem())}
	case kind == reflect.Interface:
		return map[string]any{}
	case kind == reflect.Struct && t.Name() == "":
		return d.fields(t)
	case kind == reflect.Struct:
		if _, done := d[t.Name()]; !done {
			d[t.Name()] = nil
			d[t.Name()] = d.fields(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case kinds[kind] != "":
		return map[string]any{"type": kinds[kind]}
	}
	panic("no schema of " + t.String())
}

// interval describes what an interval's MarshalJSON writes.
func (d definitions) interval() map[string]any {
	d["interval"] = d.fields(reflect.TypeFor[struct {
		Low   *float64 `json:"low"`
		Point *float64 `json:"point"`
		High  *float64 `json:"high"`
	}]())
	return map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/interval"}, map[string]any{"type": "null"}}}
}

// fields describes a struct: its fields are always present unless they are left out when
// empty.
func (d definitions) fields(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		properties[name] = d.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// The golden texts of programs' output are valid by the published schemas.
func TestGoldenJSONIsValid(t *testing.T) {
	for name, pattern := range map[string]string{"diagnose": "../text/testdata/*.json.txt", "trace": "../text/testdata/trace/json.out", "predict": "../text/testdata/predict/*.json.golden", "predict-tutorial": "../text/testdata/tutorial/*json*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no such text", pattern)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err := errors.Join(err, golden.CheckSchema("../../docs/schema/"+name+".json", text)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
