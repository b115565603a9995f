package guest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// message knows how a message is read or written here; nil where it never is.
type message struct {
	make  func() any
	read  func([]byte) (any, error)
	write func(any) []byte
}

// messages are all messages, by the names of the golden files.
var messages = map[string]message{
	"RegisterRequest": {func() any { return new(abi.RegisterRequest) }, reader(decodeRequest), nil},
	"Invocation":      {func() any { return new(abi.Invocation) }, reader(decodeWhole), nil},
	"Questions":       {func() any { return new(abi.Questions) }, reader(decodeWholeQuestions), nil},
	"Answer":          {func() any { return new(abi.Answer) }, reader(decodeRequestAnswer), nil},
	"Registration":    {func() any { return new(abi.Registration) }, nil, writerOf(func(r abi.Registration) []byte { return encodeRegistration(r, (*writer).capabilities) })},
	"Step":            {func() any { return new(abi.Step) }, nil, func(m any) []byte { return encodeStep(m.(*abi.Step), (*writer).call) }},
	"Event":           {func() any { return new(abi.Event) }, nil, writerOf(EncodeEvent)},
	"TransformResult": {func() any { return new(abi.TransformResult) }, nil, writerOf(encodeTransformed)},
	"Answers": {
		func() any { return new(abi.Answers) }, nil,
		writerOf(func(a abi.Answers) []byte { return encodeAnswers(a.Answers) }),
	},
}

// decodeWhole reads an invocation, and what is read later.
func decodeWhole(text []byte) (abi.Invocation, error) {
	var t Task
	err := new(Module).decodeInvocation(text, &t)
	t.later()
	return t.Call, err
}

func decodeWholeQuestions(text []byte) (abi.Questions, error) {
	var asked abi.Questions
	var t Task
	var err error
	asked.Questions, err = new(Module).decodeQuestions(text, &t)
	t.later()
	asked.Invocation = t.Call
	return asked, err
}

// later reads what handlers read when they ask for it.
func (t *Task) later() { t.Call.Admission, t.Call.Conversion = t.Admission(), t.Conversion() }

func decodeRequestAnswer(text []byte) (abi.Answer, error) { return decodeAnswer(text, toRequestAnswer) }

func reader[M any](decode func([]byte) (M, error)) func([]byte) (any, error) {
	return func(text []byte) (any, error) {
		m, err := decode(text)
		return &m, err
	}
}

func writerOf[M any](encode func(M) []byte) func(any) []byte {
	return func(m any) []byte { return encode(*m.(*M)) }
}

// check reads a text, or writes what it means, and compares with encoding/json.
func (m message) check(t *testing.T, text []byte) {
	t.Helper()
	standard := m.make()
	if err := json.Unmarshal(text, standard); err != nil {
		t.Fatal(err)
	}
	if m.read != nil {
		got, err := m.read(text)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := plain(t, marshal(t, standard)), plain(t, marshal(t, got)); !reflect.DeepEqual(got, want) {
			t.Errorf("read as %v\nwant %v", got, want)
		}
		return
	}
	if want, got := plain(t, text), plain(t, m.write(standard)); !reflect.DeepEqual(got, want) {
		t.Errorf("written as %v\nwant %v", got, want)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plain is a text as maps and lists, without what means nothing: null and empty
// lists where there are no handlers.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if list, ok := value["handlers"].([]any); ok && len(list) == 0 || value["handlers"] == nil {
		delete(value, "handlers")
	}
	return value
}

func TestGoldenMessages(t *testing.T) {
	files, err := filepath.Glob("../../../../abi/testdata/v1/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden messages: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			m, ok := messages[name]
			if !ok {
				t.Fatalf("the message %s is not known here", name)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m.check(t, text)
		})
	}
}

// TestNoFieldIsForgotten sets every field of every message, by reflection.
func TestNoFieldIsForgotten(t *testing.T) {
	for name, m := range messages {
		t.Run(name, func(t *testing.T) {
			full := m.make()
			fill(reflect.ValueOf(full).Elem())
			m.check(t, marshal(t, full))
		})
	}
}

// fill gives every field a value that is not its zero value.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case abi.Raw:
		v.Set(reflect.ValueOf(abi.Raw(`{"raw":true}`)))
		return
	case abi.Delay:
		v.Set(reflect.ValueOf(abi.DelayOf(1.5)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Uint32:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(7.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), item)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

// TestMalformedMessages must not panic, and must say that something is wrong.
func TestMalformedMessages(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "5", `{`, `{"id"`, `{"id":`, `{"id":"x"`, `{"a":1 "b":2}`} {
		for name, m := range messages {
			if m.read == nil {
				continue
			}
			if _, err := m.read([]byte(text)); err == nil {
				t.Errorf("%s: %q is read without an error", name, text)
			}
		}
	}
}

// TestForeignTypes of fields are ignored, as unknown fields are.
func TestForeignTypes(t *testing.T) {
	for _, value := range []string{`null`, `5`, `"x"`, `[1, {}]`, `{"x": [1]}`} {
		for name, m := range messages {
			typ := reflect.TypeOf(m.make()).Elem()
			for i := 0; m.read != nil && i < typ.NumField(); i++ {
				key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				if _, err := m.read([]byte(`{"` + key + `": ` + value + `}`)); err != nil && key != "questions" {
					t.Errorf("%s: %s: %s: %v", name, key, value, err)
				}
			}
		}
	}
}
