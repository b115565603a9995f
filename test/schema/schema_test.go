// Package schema_test checks the JSON Schema of the ABI with an independent
// validator: the golden messages are valid, and broken ones are not.
package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	schemaFile = "../../abi/schema/v1.json"
	goldenDir  = "../../abi/testdata/v1"
)

// compile makes a validator for one kind of messages.
func compile(t *testing.T, message string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile + "#/$defs/" + message)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func document(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestGoldenMessagesAreValid(t *testing.T) {
	files, err := filepath.Glob(goldenDir + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			message, _, _ := strings.Cut(name, ".")
			if err := compile(t, message).Validate(document(t, string(text))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBrokenMessagesAreInvalid(t *testing.T) {
	tests := []struct{ name, message, text string }{
		{"a step without its kind", "Step", `{"result":1}`},
		{"seconds as text", "Step", `{"step":"wait","seconds":"1"}`},
		{"handlers that are no list", "Registration", `{"handlers":{}}`},
		{"an unknown option", "Registration", `{"handlers":[{"kind":"create","id":"fn","retires":3}]}`},
		{"a handler without an id", "Registration", `{"handlers":[{"kind":"create"}]}`},
		{"a delay as text", "Step", `{"step":"done","error":{"kind":"temporary","message":"m","delay":"1"}}`},
		{"an invocation without a handler", "Invocation", `{"kind":"create","id":"fn","retry":0,"runtime":0}`},
		{"retries that are no integer", "Registration", `{"handlers":[{"kind":"create","id":"fn","retries":1.5}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := compile(t, tt.message).Validate(document(t, tt.text)); err == nil {
				t.Errorf("%s is valid", tt.text)
			}
		})
	}
}
