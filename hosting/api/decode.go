package api

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

// maxManifest bounds one manifest, in bytes: the API server accepts no more.
const maxManifest = 3 << 20

// Decode decodes an object from JSON. It refuses unknown and repeated fields, and does not
// check values: see Operator.Check. With an error, it returns what names the object.
//
// Errors name the path of the field.
func Decode(data []byte) (*Operator, error) {
	var s served
	err := strict(data, &s)
	o := &Operator{APIVersion: s.APIVersion, Kind: s.Kind, Spec: s.Spec}
	if len(s.Metadata) > 0 {
		err = errors.Join(err, json.UnmarshalCaseSensitivePreserveInts(s.Metadata, &o.Metadata))
	}
	if len(s.Status) > 0 && json.UnmarshalCaseSensitivePreserveInts(s.Status, &o.Status) != nil {
		o.Status = nil // an earlier host or another program wrote it: the host writes it again
	}
	return o, err
}

// DecodeYAML is Decode for one document in YAML or JSON. Unlike in Decode, only the fields
// name, namespace, labels and annotations are accepted in metadata.
func DecodeYAML(data []byte) (*Operator, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest has %d bytes; at most %d", len(data), maxManifest)
	}
	if err := boundedyaml.Check(data); err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := strict(converted, &m); err != nil {
		return nil, err
	}
	return &Operator{APIVersion: m.APIVersion, Kind: m.Kind, Metadata: Metadata{Name: m.Metadata.Name, Namespace: m.Metadata.Namespace}, Spec: m.Spec}, nil
}

// manifest is an object as people write it.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       Kind   `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec   Spec               `json:"spec"`
	Status stdjson.RawMessage `json:"status,omitempty"`
}

// served is an object as the API server returns it. The API server has checked the metadata.
type served struct {
	APIVersion string             `json:"apiVersion"`
	Kind       Kind               `json:"kind"`
	Metadata   stdjson.RawMessage `json:"metadata"`
	Spec       Spec               `json:"spec"`
	Status     stdjson.RawMessage `json:"status,omitempty"`
}

// strict decodes JSON. It refuses unknown and repeated fields.
func strict(data []byte, into any) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("want an object with apiVersion, kind, metadata and spec")
	}
	wrong, err := json.UnmarshalStrict(data, into)
	if err != nil {
		return readable(err)
	}
	return errors.Join(wrong...)
}

// readable returns an error of the decoder without names of types in Go.
func readable(err error) error {
	var wrong *stdjson.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // without the number itself
	found, want := jsonTypes[kind], "a whole number"
	switch wrong.Type.Kind() {
	case reflect.Map, reflect.Struct:
		want = "an object"
	case reflect.Slice:
		want = "a list"
	case reflect.Bool:
		want = "true or false"
	case reflect.String:
		if want = "a text"; kind == "number" || kind == "bool" {
			want += ", so put it into quotes"
		}
	}
	return fmt.Errorf("%s: it is %s: want %s", wrong.Field, found, want)
}

// jsonTypes are the words for what the decoder has found.
var jsonTypes = map[string]string{"array": "a list", "bool": "true or false", "number": "a number", "object": "an object", "string": "a text"}

// Check checks the values that the schema of the CustomResourceDefinition also checks.
// Modules that are files are accepted if files is set.
//
// Errors name the path of the field, its value and what is expected.
func (o *Operator) Check(files bool) error {
	var errs []error
	refuse := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf(path+": "+format, args...))
	}
	if o.APIVersion != APIVersion {
		refuse("apiVersion", "%q: want %s", o.APIVersion, APIVersion)
	}
	switch s := &o.Spec; o.Kind {
	case Namespaced:
		if s.ServiceAccountNamespace != "" {
			refuse("spec.serviceAccountNamespace", "a %s uses accounts of its own namespace only: remove the field", Namespaced)
		}
		if s.Scope != nil {
			refuse("spec.scope", "a %s serves its own namespace only: remove the field, or declare a %s", Namespaced, Cluster)
		}
		errs = append(errs, label("metadata.namespace", o.Metadata.Namespace))
	case Cluster:
		if o.Metadata.Namespace != "" {
			refuse("metadata.namespace", "a %s has no namespace: remove the field", Cluster)
		}
		errs = append(errs, label("spec.serviceAccountNamespace", s.ServiceAccountNamespace))
	default:
		refuse("kind", "%q: want %s or %s", o.Kind, Namespaced, Cluster)
	}
	errs = append(errs, subdomain("metadata.name", o.Metadata.Name), o.Spec.check(files))
	return errors.Join(errs...)
}

func label(path, value string) error { return named(path, value, validation.IsDNS1123Label) }

func subdomain(path, value string) error { return named(path, value, validation.IsDNS1123Subdomain) }

func named(path, value string, check func(string) []string) error {
	if value == "" {
		return fmt.Errorf("%s: the field is missing", path)
	}
	if problems := check(value); len(problems) > 0 {
		return fmt.Errorf("%s: %.100q: %s", path, value, strings.Join(problems, "; "))
	}
	return nil
}
