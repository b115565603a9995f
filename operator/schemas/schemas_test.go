package schemas

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const inGo = `package main

// VolumeSpec is what people write.
type VolumeSpec struct {
	// Size in GiB.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=5
	Size  int      ` + "`json:\"size\"`" + `
	Zones []string ` + "`json:\"zones,omitempty\"`" + `
	// +kubebuilder:validation:Enum=fast;slow
	Tier *string
	Parts map[string]Part ` + "`json:\"parts\"`" + `
	Since, Until time.Time
	Data []byte ` + "`json:\"data\"`" + `
	Free any ` + "`json:\"free\"`" + `
	Hidden int ` + "`json:\"-\"`" + `
	private chan int
	Common
}

// Part is a part.
type Part struct {
	// +kubebuilder:validation:Pattern=` + "`^a.*$`" + `
	Name string ` + "`json:\"name\"`" + `
	Share float64 ` + "`json:\"share\"`" + `
	On bool ` + "`json:\"on\"`" + `
	Count uint32 ` + "`json:\"count\"`" + `
}

type Common struct { Owner string ` + "`json:\"owner\"`" + ` }

var volumes = kopf.Typed[VolumeSpec]("volumes")

func fn(c *kopf.ChangeOf[VolumeSpec]) (any, error) { return nil, nil }
`

const wantGo = `
description: VolumeSpec is what people write.
type: object
required: [size]
properties:
  size: {type: integer, format: int64, minimum: 1, default: 5, description: Size in GiB.}
  zones: {type: array, items: {type: string}}
  Tier: {type: string, enum: [fast, slow]}
  parts:
    type: object
    additionalProperties:
      description: Part is a part.
      type: object
      properties:
        name: {type: string, pattern: ^a.*$}
        share: {type: number}
        "on": {type: boolean}
        count: {type: integer, minimum: 0}
  Since: {type: string, format: date-time}
  Until: {type: string, format: date-time}
  data: {type: string, format: byte}
  free: {x-kubernetes-preserve-unknown-fields: true}
  owner: {type: string}
`

const inRust = `
//! A module.
/* a comment */
/*/ struct VolumeSpec { /* nested */ old: u8 } */
use serde::Deserialize;

/// What people write.
///
/// In two paragraphs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume<> {
    size: u32,
}

/// What people write.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct VolumeSpec {
    /// In GiB.
    pub disk_size: u32,
    #[serde(default)]
    zones: Vec<String>,
    tier: Option<Tier>,
    #[serde(rename = "type")]
    kind: Box<str>,
    parts: std::collections::BTreeMap<String, Part>,
    #[serde(skip)]
    hidden: fn(),
    #[serde(flatten)]
    common: Common,
    free: serde_json::Value,
    name: Name,
    r#in: Option<String>,
}

struct Name(pub String);

#[serde(default)]
struct Part { share: f64, on: bool, count: i32, r#"x"# }

#[derive(Deserialize)]
struct Common { owner: String }

#[serde(rename_all = "kebab-case")]
enum Tier { VeryFast = 1, #[serde(rename = "s")] Slow }

#[kopf::create("volumes")]
async fn fn_(c: Change<VolumeSpec>) -> char { let text = "struct Not { a: \" }"; let path = r"C:\"; 'x' }
async fn other<'a>(c: &'a Change, e: Event<VolumeSpec>) { '\'' }
`

const wantRust = `
description: What people write.
type: object
required: [diskSize, type, parts, owner, free, name]
properties:
  diskSize: {type: integer, minimum: 0, description: In GiB.}
  zones: {type: array, items: {type: string}}
  tier: {type: string, enum: [very-fast, s]}
  type: {type: string}
  parts:
    type: object
    additionalProperties:
      type: object
      properties:
        share: {type: number}
        "on": {type: boolean}
        count: {type: integer, format: int32}
  owner: {type: string}
  free: {x-kubernetes-preserve-unknown-fields: true}
  name: {type: string}
  in: {type: string}
`

// source writes a file, and reads its types.
func source(t *testing.T, name, text string) (*Types, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

// inYAML is a value as JSON tells it.
func inYAML(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSchemasOfTypes(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"types.go": {inGo, wantGo}, "types.rs": {strings.Replace(inRust, `, r#"x"#`, "", 1), wantRust},
	} {
		t.Run(name, func(t *testing.T) {
			types, err := source(t, name, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"VolumeSpec"}, types.Handled()); diff != "" {
				t.Errorf("types of handlers (-want +got):\n%s", diff)
			}
			schema, err := types.Schema("VolumeSpec")
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inYAML(t, []byte(tt.want)), inYAML(t, text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMarkers: rules of fields, of types, and of embedded structs add up.
func TestMarkers(t *testing.T) {
	types, err := source(t, "a.go", `package a

// A is checked.
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min, at most \"max\""
type A struct {
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:default:=5
	Min int `+"`json:\"min\"`"+`
	//+kubebuilder:validation:Enum={1,2}
	Max int `+"`json:\"max\"`"+`
	// +kubebuilder:validation:Pattern="^\\d+$"
	// +optional
	Text string `+"`json:\"text\"`"+`
	// +listType=map
	// +listMapKey=a
	// +listMapKey=b
	List []Tier `+"`json:\"list\"`"+`
	// +kubebuilder:validation:XValidation:rule="self != 'b'"
	Tier Tier `+"`json:\"tier\"`"+`
	Size *resource.Quantity `+"`json:\"size\"`"+`
	Port intstr.IntOrString `+"`json:\"port\"`"+`
	B `+"`json:\",inline\"`"+`
}

// +kubebuilder:validation:Enum=a;b
// +kubebuilder:validation:XValidation:rule="self != 'c'"
type Tier string

// +kubebuilder:validation:XValidation:rule="has(self.free)",reason="FieldValueRequired"
type B struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	Free struct{} `+"`json:\"free\"`"+`
}
`)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := types.Schema("A")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	want := `
description: A is checked.
type: object
x-kubernetes-validations:
- {rule: has(self.free), reason: FieldValueRequired}
- {rule: self.min <= self.max, message: 'min, at most "max"'}
properties:
  min: {type: integer, format: int64, minimum: 1, default: 5}
  max: {type: integer, format: int64, enum: [1, 2]}
  text: {type: string, pattern: '^\d+$'}
  list:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [a, b]
    items: {type: string, enum: [a, b], x-kubernetes-validations: [{rule: self != 'c'}]}
  tier: {type: string, enum: [a, b], x-kubernetes-validations: [{rule: self != 'c'}, {rule: self != 'b'}]}
  size: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true, pattern: '` + quantity + `'}
  port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
  free: {type: object, nullable: true, x-kubernetes-preserve-unknown-fields: true}
`
	if diff := cmp.Diff(inYAML(t, []byte(want)), inYAML(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTypesWithoutASchema(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.go", "package a\ntype A struct { B []A }", "A.B[]: the type A contains itself"},
		{"a.go", "package a\ntype A struct { B *C }", "A.B: the type C is declared elsewhere: name the folder of its file"},
		{"a.go", "package a\ntype A struct { B chan int }", "A.B: a schema cannot describe this type"},
		{"a.go", "package a\ntype A struct { B map[int]string }", "A.B: the keys of a map must be strings"},
		{"a.go", "package a\ntype A struct { B v1.PodSpec }", "A.B: the type v1.PodSpec is declared in another package"},
		{"a.go", "package a\ntype A struct {\n// +kubebuilder:validation:items:Enum=a;b\nB []string }", "A.B: the marker +kubebuilder:validation:items:Enum=a;b is not known, so the schema would not have its rule"},
		{"a.go", "package a\n// +kubebuilder:validation:Typo=1\ntype A struct {}", "A: the marker +kubebuilder:validation:Typo=1 is not known"},
		{"a.go", "package a\n// +kubebuilder:validation:XValidation:rule='ab'\ntype A struct {}", "A: the marker XValidation:rule='ab' is not understood: want rule="},
		{"a.go", "package a\ntype B struct{}", "there is no type A, but B"},
		{"a.go", "package a\ntype", "expected"},
		{"a.go", "package a", "there are no types in it"},
		{"a.py", "class A: pass", "a.py: the spec of a handler in Python is a mapping without a type, as in Kopf: write the definition by hand, from crd.yaml of kopf new; types are read from files in Go (.go) and in Rust (.rs)"},
		{"a.mjs", "class A {}", "a.mjs: the spec of a handler in JavaScript has no type that exists at run time: write the definition by hand"},
		{"a.d.ts", "interface A {}", "a.d.ts: types of TypeScript are not read: they have no form in which a schema is complete: write the definition by hand"},
		{"a.zig", "", "a.zig: types are read from files in Go (.go) and in Rust (.rs)"},
		{"a.rs", "struct A { b: Vec<A> }", "A.b[]: the type A contains itself"},
		{"a.rs", "struct A { b: (u8, u8) }", "A.b: a tuple has no schema"},
		{"a.rs", "struct A { b: Cell<u8> }", "A.b: the type Cell has parameters, and no schema"},
		{"a.rs", "struct A { b: HashMap<u8, u8> }", "A.b: the keys of a map must be strings"},
		{"a.rs", "struct A<T> { b: T }", "A: a type with parameters has no schema of its own"},
		{"a.rs", "struct A(u8, u8);", "A: a tuple has no schema"},
		{"a.rs", "enum A { B(u8) }", "A: a variant with values has no schema"},
		{"a.rs", "struct A { b }", `A: line 1: want ":", got "the end"`},
		{"a.rs", "struct A { b: u8 }\nconst X: &str = \"", "line 2: a text without an end"},
		{"a.rs", "/* ", "line 1: a comment without an end"},
		{"a.rs", "\n/*/ \n", "line 2: a comment without an end"},
		{"a.rs", "struct A { b: u8 }\n/* /*\n*/ ", "line 2: a comment without an end"},
	} {
		types, err := source(t, tt.file, tt.text)
		if err == nil {
			_, err = types.Schema("A")
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestSchemasAreBounded: types that contain others twice, or brackets in brackets, take little time and memory.
func TestSchemasAreBounded(t *testing.T) {
	twice := func(form string) string {
		text := ""
		for i := range 40 {
			text += fmt.Sprintf(form, i, i+1, i+1)
		}
		return text
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"Go", "a.go", "package a\n" + twice("type T%d struct { A T%d; B T%d }\n") + "type T40 string\n", "too much: a schema has at most 20000 values and 100 levels"},
		{"Rust", "a.rs", twice("struct T%d { a: T%d, b: Vec<T%d> }\n") + "struct T40 { a: String }\n", "too much: a schema has at most 20000 values and 100 levels"},
		{"brackets in Go", "a.go", "package a\ntype T0 struct{ A " + strings.Repeat("[]", 50_000) + "string }\n", "too much: a schema has"},
		{"brackets in Rust", "a.rs", "struct T0 { a: " + strings.Repeat("Box<", 100_000) + "String" + strings.Repeat(">", 100_000) + " }\n", "T0.a: more than 100 levels of brackets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			types, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := types.Schema("T0"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestTypesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\ntype A struct { B B }", "b.go": "package a\ntype B string", "c_test.go": "package a\ntype", "d.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	types, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if schema, err := types.Schema("A"); err != nil || schema["properties"] == nil {
		t.Errorf("%v, %v", schema, err)
	}
	if _, err := Read(filepath.Join(dir, "absent.go")); err == nil {
		t.Error("a file that does not exist has types")
	}
}

func TestFoldersOfUntypedLanguagesSayWhatToWrite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", "operator.py", "operator_test.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Read(dir)
	if err == nil || !strings.HasPrefix(err.Error(), dir+": the spec of a handler in Python is a mapping") {
		t.Errorf("error = %v", err)
	}
}

func TestDefinition(t *testing.T) {
	types, err := source(t, "a.go", "package a\ntype VolumeSpec struct { A string }\ntype S struct { B int }")
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseResource("volumes.v1alpha1.example.com")
	if err != nil {
		t.Fatal(err)
	}
	d.Spec, d.Status, d.ShortNames = "VolumeSpec", "S", []string{"vol"}
	object, err := d.Object(types)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	want := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: volumes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Volume, listKind: VolumeList, plural: volumes, singular: volume, shortNames: [vol]}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec: {type: object, properties: {A: {type: string}}}
          status: {type: object, properties: {B: {type: integer, format: int64}}, x-kubernetes-preserve-unknown-fields: true}
`
	if diff := cmp.Diff(inYAML(t, []byte(want)), inYAML(t, text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "volumes", "volumes.example.com", "volumes.v1", "volumes.v1.local", "Volumes.v1.example.com", "volumes.1.example.com"} {
		if _, err := ParseResource(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// FuzzRust: any text gives types or an error, and ends.
func FuzzRust(f *testing.F) {
	f.Add(inRust)
	f.Add("\xc3(") // no UTF-8
	for i := range inRust {
		f.Add(inRust[:i])
	}
	f.Fuzz(func(_ *testing.T, text string) {
		types := &Types{shapes: map[string]*shape{}}
		if types.readRust(text) == nil {
			for _, name := range types.Names() {
				_, _ = types.Schema(name) // an error is an answer
			}
		}
	})
}
