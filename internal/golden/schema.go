package golden

import (
	"bytes"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CheckSchema validates printed JSON against a JSON Schema.
func CheckSchema(schema string, printed []byte) error {
	compiled, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}
