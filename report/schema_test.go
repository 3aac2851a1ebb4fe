package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stoker-dev/stoker/feed/pack"
	"github.com/stoker-dev/stoker/internal/golden"
)

// objects are what verbs print with --json; docs/schema has a schema of each.
var objects = map[string]any{
	"diagnose": diagnosis{}, "verify": outcomeObject{}, "trace": traceObject{}, "trace-compare": tracesObject{},
	"predict": prediction{}, "predict-tutorial": tutorialObject{}, "doctor": doctorObject{},
	"pack": pack.Index{}, "pack-shard": pack.Shard{}, "pack-dry-run": pack.Estimate{},
}

// The published schemas are of the types as they are (make golden writes them).
func TestSchemas(t *testing.T) {
	files := golden.Open(t, "../docs/schema", ".json")
	for name, o := range objects {
		d := definitions{}
		s := d.fields(reflect.TypeOf(o))
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
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// Valid reports what a published schema has against an object that was printed.
func Valid(name string, printed []byte) error {
	compiled, err := jsonschema.NewCompiler().Compile("../docs/schema/" + name + ".json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// The golden texts of programs' output are valid by the published schemas.
func TestGoldenJSONIsValid(t *testing.T) {
	for name, pattern := range map[string]string{"diagnose": "testdata/*.json.txt", "trace": "testdata/trace/json.out", "predict": "testdata/predict/*.json.golden", "predict-tutorial": "testdata/tutorial/*json*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no such text", pattern)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err := errors.Join(err, Valid(name, text)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
