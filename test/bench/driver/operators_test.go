package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChosen(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, only string
		also       []string
		want, says string
		bad        bool
	}{
		{name: "another one", only: "x", also: []string{"x=" + there + " -a"}, want: "x"},
		{name: "two others", only: "x,y", also: []string{"x=" + there, "y=" + there}, want: "x y"},
		{name: "not built", only: "x,y", also: []string{"x=" + there, "y=" + there + ".not"}, want: "x", says: "SKIPPED: y: there is no " + there + ".not"},
		{name: "nothing left", only: "y", also: []string{"y=" + there + ".not"}, says: "SKIPPED: y", bad: true},
		{name: "restarts of one", only: "restart,y", also: []string{"x=" + there, "y=" + there}, want: "y"},
		{name: "starts of one", only: "start,y", also: []string{"x=" + there, "y=" + there}, want: "y"},
		{name: "unknown", only: "x,z", also: []string{"x=" + there}, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			o := options{Only: tt.only, Log: &log}
			for _, value := range tt.also {
				if err := o.also(value); err != nil {
					t.Fatal(err)
				}
			}
			list, _, err := chosen(o)
			var names []string
			for _, p := range list {
				names = append(names, p.Name)
			}
			if (err != nil) != tt.bad || strings.Join(names, " ") != tt.want {
				t.Errorf("got %v, %v; want %s, an error: %t", names, err, tt.want, tt.bad)
			}
			if !strings.Contains(log.String(), tt.says) || (tt.says == "") != (log.Len() == 0) {
				t.Errorf("said %q, want %q", log.String(), tt.says)
			}
		})
	}
}

func TestAdditionalOperators(t *testing.T) {
	for _, value := range []string{"", "x", "x=", "=x", "x= "} {
		if err := new(options).also(value); err == nil {
			t.Errorf("%q: no error", value)
		}
	}
}

func TestCommandLines(t *testing.T) {
	tests := []struct {
		name    string
		program program
		posting bool
		want    string
	}{
		{"without events", hosted("a", "a.wasm"), false, "bin/kopf run --standalone -n default a.wasm"},
		{"with events", hosted("a", "a.wasm"), true, "bin/kopf run --standalone -n default a.wasm --config posting=on"},
		{"by a variable", program{Command: []string{"a", "b"}}, true, "BENCH_POSTING=on a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.program.line(tt.posting); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	good := options{Rounds: 1, Objects: 1, Trickle: 1, Posting: "both"}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*options){
		"rounds":  func(o *options) { o.Rounds = 0 },
		"objects": func(o *options) { o.Objects = -1 },
		"trickle": func(o *options) { o.Trickle = 0 },
		"posting": func(o *options) { o.Posting = "yes" },
	} {
		bad := good
		if spoil(&bad); bad.check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A copy is what the handler has left, under another name; what the server sets is not in it.
func TestCopyOf(t *testing.T) {
	object := map[string]any{
		"kind": "K", "spec": 1, "status": 2,
		"metadata": map[string]any{"name": "a", "uid": "u", "resourceVersion": "7", "annotations": map[string]any{"x": "y"}},
	}
	got, err := copyOf(object, "b")
	if want := `{"kind":"K","metadata":{"annotations":{"x":"y"},"name":"b"},"spec":1,"status":2}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
