package logs_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

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
		{"without prefixes", logs.Options{Format: logs.Plain, Prefix: &no}, func(l zerolog.Logger) { l.Info().Object("object", ref{"ns", "n"}).Msg("hello") }, "hello\n"},
		{"another key", logs.Options{Format: logs.Plain, RefKey: "k8s"}, func(l zerolog.Logger) { l.Info().Object("k8s", ref{"ns", "n"}).Msg("hello") }, "[ns/n] hello\n"},
		{"an error", logs.Options{Format: logs.Plain}, func(l zerolog.Logger) { l.Error().Err(errBoo{}).Msg("hello") }, "hello: boo\n"},
		{"full", logs.Options{Format: logs.Full, Prefix: &yes}, func(l zerolog.Logger) {
			l.Warn().Str("logger", "kopf.objects").Object("object", ref{"ns", "n"}).Msg("hello\nworld")
		}, "[<time>] kopf.objects         [WARNING ] [ns/n] hello\nworld\n"},
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
