package manifests

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	extism "github.com/extism/go-sdk"
)

// checkFields refuses what the SDK would ignore: unknown fields, further sources of a module,
// negative limits.
func checkFields(fields map[string]json.RawMessage) error {
	if err := known(fields, extism.Manifest{}); err != nil {
		return err
	}
	var wasm []map[string]json.RawMessage
	if err := part("wasm", fields, &wasm); err != nil {
		return err
	}
	if len(wasm) != 1 {
		return fmt.Errorf("wasm: %d modules: want exactly one: link the modules of a plugin at build time", len(wasm))
	}
	if err := checkModule(wasm[0]); err != nil {
		return err
	}
	var memory map[string]json.RawMessage
	if err := part("memory", fields, &memory); err != nil {
		return err
	}
	if err := known(memory, extism.ManifestMemory{}); err != nil {
		return err
	}
	for _, limit := range append(slices.Collect(maps.Values(memory)), fields["timeout_ms"]) {
		if strings.HasPrefix(string(limit), "-") { // the SDK takes some of them as absent
			return fmt.Errorf("limits cannot be negative")
		}
	}
	return nil
}

// part decodes a field whose parts are still text.
func part(name string, fields map[string]json.RawMessage, into any) error {
	if len(fields[name]) == 0 {
		return nil
	}
	if err := json.Unmarshal(fields[name], into); err != nil {
		return fmt.Errorf("%s: %w", name, readable(err))
	}
	return nil
}

// checkModule refuses a module that has none or several sources.
func checkModule(module map[string]json.RawMessage) error {
	var given []string
	for _, name := range []string{"path", "data", "url"} {
		if text := string(module[name]); text != "" && text != `""` && text != "null" {
			given = append(given, name)
		}
	}
	if slices.Equal(given, []string{"url"}) {
		return fmt.Errorf("wasm: url: downloads are not supported: use path, or run an artifact (oci://…)")
	}
	emptyURL := struct {
		URL string `json:"url"`
	}{}
	if err := known(module, extism.WasmFile{}, extism.WasmData{}, emptyURL); err != nil {
		return err
	}
	if len(given) != 1 {
		return fmt.Errorf("wasm: want either path or data")
	}
	return nil
}

// known refuses fields that none of some structs of the SDK has.
func known(fields map[string]json.RawMessage, structs ...any) error {
	names := map[string]bool{}
	for _, s := range structs {
		t := reflect.TypeOf(s)
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !names[name] {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}

// readable returns an error of the decoder without names of types in Go.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	var base64Error base64.CorruptInputError
	switch {
	case errors.As(err, &base64Error):
		return fmt.Errorf("wasm: data: %w", err)
	case !errors.As(err, &wrong):
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	case wrong.Field == "memory.max_pages" && strings.HasPrefix(wrong.Value, "number"):
		return errPages
	case wrong.Field == "":
		return fmt.Errorf("invalid value: %s: want %s", wrong.Value, jsonType(wrong.Type))
	}
	return fmt.Errorf("%s: invalid value: %s: want %s", wrong.Field, wrong.Value, jsonType(wrong.Type))
}

// jsonType names the type of JSON that is decoded into a type of Go.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "text in base64"
		}
		return "a list"
	case reflect.String:
		return "a text"
	}
	return "a whole number"
}
