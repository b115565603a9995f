package abi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// messages are the Go types of the golden files, by the beginning of their names.
var messages = map[string]func() any{
	"RegisterRequest": func() any { return new(abi.RegisterRequest) },
	"Registration":    func() any { return new(abi.Registration) },
	"Invocation":      func() any { return new(abi.Invocation) },
	"Questions":       func() any { return new(abi.Questions) },
	"Answers":         func() any { return new(abi.Answers) },
	"Step":            func() any { return new(abi.Step) },
	"Answer":          func() any { return new(abi.Answer) },
	"TransformResult": func() any { return new(abi.TransformResult) },
	"Event":           func() any { return new(abi.Event) },
}

// TestGolden reads each golden file into its type, without any field left over,
// and writes it again as it was. A changed file is a change of the ABI.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		t.Run(filepath.Base(file), func(t *testing.T) {
			covered[name] = true
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			message := messages[name]()
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(message); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			if want, got := parsed(t, text), parsed(t, again); !reflect.DeepEqual(want, got) {
				t.Errorf("written again:\n%s\nwant:\n%s", again, text)
			}
		})
	}
	for name := range messages {
		if !covered[name] {
			t.Errorf("there is no golden file of %s", name)
		}
	}
}

func parsed(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return withoutNulls(value)
}

// withoutNulls drops null fields of objects: they mean the same as absent ones,
// but for delays, which have a test of their own.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if item == nil && key != "delay" {
				delete(v, key)
			} else {
				v[key] = withoutNulls(item)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = withoutNulls(item)
		}
	}
	return value
}

func TestDelay(t *testing.T) {
	tests := []struct {
		name, text string
		want       abi.Delay
		fails      bool
	}{
		{"not said", `{"kind":"temporary","message":""}`, abi.Delay{}, false},
		{"at once", `{"kind":"temporary","message":"","delay":null}`, abi.Delay{Said: true, None: true}, false},
		{"seconds", `{"kind":"temporary","message":"","delay":1.5}`, abi.DelayOf(1.5), false},
		{"zero", `{"kind":"temporary","message":"","delay":0}`, abi.DelayOf(0), false},
		{"text", `{"kind":"temporary","message":"","delay":"1"}`, abi.Delay{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var failure abi.Error
			err := json.Unmarshal([]byte(tt.text), &failure)
			if (err != nil) != tt.fails || failure.Delay != tt.want {
				t.Fatalf("got %+v, %v; want %+v", failure.Delay, err, tt.want)
			}
			if tt.fails {
				return
			}
			if again, err := json.Marshal(failure); err != nil || string(again) != tt.text {
				t.Errorf("written again: %s, %v; want %s", again, err, tt.text)
			}
		})
	}
}

func TestFrames(t *testing.T) {
	frame := abi.AppendFrame(nil, abi.Segment{Tag: abi.TagHeader, Data: []byte("{}")}, abi.Segment{Tag: 99}, abi.Segment{Tag: abi.TagBody, Data: []byte("body")})
	want := "\x01\x00\x00\x00\x02\x00\x00\x00{}\x63\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00body"
	if string(frame) != want {
		t.Errorf("frame %q, want %q", frame, want)
	}
	for tag, data := range map[uint32]string{abi.TagHeader: "{}", abi.TagBody: "body"} {
		if found, err := abi.FindSegment(frame, tag); err != nil || string(found) != data {
			t.Errorf("segment %d: %q, %v; want %q", tag, found, err, data)
		}
	}
	if found, err := abi.FindSegment(frame, abi.TagOld); err != nil || found != nil {
		t.Errorf("absent segment: %q, %v", found, err)
	}
	for cut := 1; cut < len(frame); cut++ {
		if _, err := abi.FindSegment(frame[:cut], 77); err == nil && cut != 10 && cut != 18 {
			t.Errorf("a frame cut at %d is taken for whole", cut)
		}
	}
}

func TestVersionOfExport(t *testing.T) {
	tests := []struct {
		name    string
		version int
		ok      bool
	}{
		{"kopf_abi_v1", 1, true},
		{"kopf_abi_v12", 12, true},
		{"kopf_abi_v", 0, false},
		{"kopf_abi_vx", 0, false},
		{"kopf_abi_v0", 0, false},
		{"kopf_abi_v-1", 0, false},
		{"memory", 0, false},
	}
	for _, tt := range tests {
		if version, ok := abi.VersionOfExport(tt.name); ok != tt.ok || ok && version != tt.version {
			t.Errorf("%s: %d, %v; want %d, %v", tt.name, version, ok, tt.version, tt.ok)
		}
	}
}

func TestStopNames(t *testing.T) {
	got := abi.StopNames(abi.StopResourceDeleted | abi.StopDaemonSignalled)
	if want := []string{"resource_deleted", "daemon_signalled"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := abi.StopNames(0); got != nil {
		t.Errorf("got %v for no reasons", got)
	}
}
