package logs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator/logs"
)

// ref is the reference to an object.
type ref struct{ namespace, name string }

func (r ref) MarshalZerologObject(e *zerolog.Event) {
	e.Str("kind", "K").Str("name", r.name)
	if r.namespace != "" {
		e.Str("namespace", r.namespace)
	}
}

func TestTextFormats(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name    string
		options logs.Options
		log     func(zerolog.Logger)
		want    string // with <time> for times
	}{
		{"plain", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) { l.Info().Msg("hello") }, "hello\n"},
		{"plain, about an object", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) { l.Info().Object("object", ref{"ns", "n"}).Msg("hello") }, "[ns/n] hello\n"},
		{"about a cluster-scoped object", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) { l.Info().Object("object", ref{"", "n"}).Msg("hello") }, "[n] hello\n"},
		{"of one of several operators", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) {
			l = l.With().Str("operator", "WasmOperator ns/a").Logger()
			l.Info().Object("object", ref{"ns", "n"}).Str("operator", "forged\n").Msg("hello")
		}, "WasmOperator ns/a: [ns/n] hello\n"},
		{"without prefixes", logs.Options{Format: logs.Plain, Prefix: &no}, func(l zerolog.Logger) { l.Info().Object("object", ref{"ns", "n"}).Msg("hello") }, "hello\n"},
		{"another key", logs.Options{Format: logs.Plain, RefKey: "k8s"}, func(l zerolog.Logger) { l.Info().Object("k8s", ref{"ns", "n"}).Msg("hello") }, "[ns/n] hello\n"},
		{"an error", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) { l.Error().Err(errBoo{}).Msg("hello.") }, "hello: boo\n"},
		{"full", logs.Options{Format: logs.Full, Prefix: &yes}, func(l zerolog.Logger) {
			l.Warn().Str("logger", "kopf.objects").Object("object", ref{"ns", "n"}).Msg("hello\nworld")
		}, "[<time>] kopf.objects         [WARNING ] [ns/n] hello\n| world\n"},
		{"full, without a logger", logs.Options{Format: logs.Full}, func(l zerolog.Logger) { l.Info().Msg("hello") }, "[<time>] kopf                 [INFO    ] hello\n"},
		{
			"a long logger",
			logs.Options{Format: logs.Full},
			func(l zerolog.Logger) { l.Error().Str("logger", "kopf.something.very.long").Msg("hello") },
			"[<time>] kopf.something.very. [ERROR   ] hello\n",
		},
		{"below the level", logs.Options{Format: logs.Plain, Level: zerolog.WarnLevel}, func(l zerolog.Logger) { l.Info().Msg("hello") }, ""},
	}
	times := regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.log(logs.New(&out, tt.options))
			if got := times.ReplaceAllString(out.String(), "[<time>]"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

type errBoo struct{}

func (errBoo) Error() string { return "boo" }

func TestJSONFormat(t *testing.T) {
	yes := true
	var out bytes.Buffer
	l := logs.New(&out, logs.Options{Format: logs.JSON, RefKey: "k8s", Prefix: &yes})
	l.Warn().Str("logger", "kopf.objects").Object("k8s", ref{"ns", "n"}).Int("attempt", 1).Msg("hello")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if stamp, _ := got["timestamp"].(string); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`).MatchString(stamp) {
		t.Errorf("the timestamp is %q", stamp)
	}
	delete(got, "timestamp")
	want := map[string]any{
		"message": "[ns/n] hello", "severity": "warn", "logger": "kopf.objects", "attempt": 1.0,
		"k8s": map[string]any{"kind": "K", "name": "n", "namespace": "ns"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFieldsOfOneName: operators cannot replace what the host says of them. Of others, the last one is valid.
func TestFieldsOfOneName(t *testing.T) {
	var out bytes.Buffer
	l := logs.New(&out, logs.Options{Format: logs.JSON}).With().Str("operator", "a").Str("replica", "b").Logger()
	l.Info().Str("z", "<&>").Int("n", 1).Str("operator", "forged").Str("replica", "forged").Int("n", 2).Msg("hello")
	want := `,"severity":"info","n":2,"operator":"a","replica":"b","z":"<&>"}` + "\n"
	if got := out.String(); !strings.HasPrefix(got, `{"message":"hello","timestamp":"`) || !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want the end %s", got, want)
	}
}

// TestReplicasAreNamed: before the message in text formats, in a field of JSON.
func TestReplicasAreNamed(t *testing.T) {
	for format, want := range map[logs.Format]string{logs.Plain: "one_X: hello\n", logs.Full: "] one_X: hello\n", logs.JSON: `"replica":"one_X"`} {
		var out bytes.Buffer
		l := logs.New(&out, logs.Options{Format: format})
		l.Info().Str("replica", "one_X").Msg("hello")
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}

// TestForgedLines: no text, wherever it is put, makes a second record or reaches a terminal as a control character.
func TestForgedLines(t *testing.T) {
	const forged = "innocent\n[2026-11-22 00:00:00,000] kopf.reactor         [INFO    ] Admin logged in\r\n{\"message\":\"x\"}\u2028\u202e\u0085\x1b[2J\x7f\xff"
	for _, format := range []logs.Format{logs.Plain, logs.Full, logs.JSON} {
		for where, log := range map[string]func(zerolog.Logger){
			"message":   func(l zerolog.Logger) { l.Info().Msg(forged) },
			"error":     func(l zerolog.Logger) { l.Info().Err(errors.New(forged)).Msg("hello") },
			"logger":    func(l zerolog.Logger) { l.Info().Str("logger", forged).Msg("hello") },
			"field":     func(l zerolog.Logger) { l.Info().Str("field", forged).Msg("hello") },
			"name":      func(l zerolog.Logger) { l.Info().Object("object", ref{"ns", forged}).Msg("hello") },
			"namespace": func(l zerolog.Logger) { l.Info().Object("object", ref{forged, "n"}).Msg("hello") },
			"key":       func(l zerolog.Logger) { l.Info().Str(forged, "value").Msg("hello") },
		} {
			t.Run(string(format)+" "+where, func(t *testing.T) {
				yes := true
				var out bytes.Buffer
				log(logs.New(&out, logs.Options{Format: format, Prefix: &yes}))
				text, ended := strings.CutSuffix(out.String(), "\n")
				if !ended {
					t.Error("the record has no end")
				}
				for i, line := range strings.Split(text, "\n") {
					if i > 0 && (format == logs.JSON || !strings.HasPrefix(line, "| ")) {
						t.Errorf("a second record: %q", line)
					}
					if line != legible.Line(line) {
						t.Errorf("control characters in %q", line)
					}
				}
				if format == logs.JSON && !json.Valid(out.Bytes()) {
					t.Errorf("no JSON: %q", out.String())
				}
			})
		}
	}
}

// TestLongTexts: a record is bounded in all formats.
func TestLongTexts(t *testing.T) {
	for _, format := range []logs.Format{logs.Plain, logs.Full, logs.JSON} {
		var out bytes.Buffer
		l := logs.New(&out, logs.Options{Format: format})
		l.Info().Err(errors.New(strings.Repeat("y", 1<<20))).Msg(strings.Repeat("x", 1<<20))
		if n := out.Len(); n < 128<<10 || n > 129<<10 || strings.Count(out.String(), "(983040 bytes more)") != 2 {
			t.Errorf("%s: %d bytes", format, n)
		}
	}
}
