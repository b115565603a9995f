package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, document string
		want           map[string]string
		fails          string
	}{
		{"by groups", "queueing: {worker_limit: 5, idle_timeout: 1.5}\nposting: {enabled: false}", map[string]string{"queueing.worker_limit": "5", "queueing.idle_timeout": "1.5", "posting.enabled": "false"}, ""},
		{"by names", `{"queueing.worker_limit": 5}`, map[string]string{"queueing.worker_limit": "5"}, ""},
		{"nothing", "", map[string]string{}, ""},
		{"an empty group", "queueing:", map[string]string{}, ""},
		{"twice", "{queueing: {worker_limit: 5}, queueing.worker_limit: 6}", nil, `"queueing.worker_limit" is set twice`},
		{"twice in a group", "queueing: {worker_limit: 5, worker_limit: 6}", nil, "already set"},
		{"a group that is not a mapping", "queueing: 5", nil, `"queueing" is not a group of settings, but 5`},
		{"a list", "[1]", nil, "not a mapping of settings"},
		{"not YAML", "{", nil, "yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values, err := settings.Parse([]byte(tt.document))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			got := map[string]string{}
			for name, value := range values {
				got[name] = string(value)
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v; settings (-want +got):\n%s", err, diff)
			}
		})
	}
}

// One error names all mistakes.
func TestSetAll(t *testing.T) {
	err := settings.Default().SetAll(map[string]json.RawMessage{
		"peering.nmae": []byte(`"x"`), "queuing.worker_limit": []byte("5"), "posting.enabled": []byte("1"), "peering.name": []byte(`"x"`),
	})
	for _, want := range []string{
		`unknown setting "peering.nmae"; known are: peering.clusterwide, peering.lifetime`,
		`unknown setting "queuing.worker_limit"; known groups are: admission, background`,
		`setting "posting.enabled": 1 is not true or false`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestSetText(t *testing.T) {
	s := settings.Default()
	for name, text := range map[string]string{
		"queueing.worker_limit": "5", "peering.name": "7", "posting.event_name_prefix": "a: b", "posting.enabled": "false",
		"networking.error_backoffs": "[1, 2]", "watching.label_selectors": "{pods: a=b}",
	} {
		if err := s.SetText(name, text); err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
		}
	}
	if s.Queueing.WorkerLimit != 5 || s.Peering.Name != "7" || s.Posting.EventNamePrefix != "a: b" || s.Posting.Enabled || s.Networking.ErrorBackoffs.Attempts() != 3 {
		t.Errorf("settings: %+v", s)
	}
	for name, text := range map[string]string{"queueing.worker_limit": "many", "nothing.such": "1", "posting.level": "["} {
		if err := s.SetText(name, text); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: error %v does not name it", name, text, err)
		}
	}
}

func TestClasses(t *testing.T) {
	set := func(name, value string, granted ...string) error {
		_, err := settings.Default().SetByGuest(map[string]json.RawMessage{name: json.RawMessage(value)}, granted)
		return err
	}
	tests := []struct {
		name  string
		err   error
		fails string
	}{
		{"harmless", set("queueing.worker_limit", "5"), ""},
		{"not granted", set("networking.trust_env", "true"), `setting "networking.trust_env" is of the class grant`},
		{"granted", set("networking.trust_env", "true", "networking.trust_env"), ""},
		{"another one is granted", set("networking.trust_env", "true", "peering.name"), "class grant"},
		{"of the host", set("execution.executor", "null", "execution.executor"), `setting "execution.executor" is of the class host`},
		{"unknown", set("execution.exec", "null"), "unknown setting"},
		{"a long text", set("persistence.finalizer", `"`+strings.Repeat("x", 511)+`"`), "the value has 513 bytes, and an operator may choose one of at most 512"},
		{"large", set("persistence.progress_storage", `[`+strings.Repeat(" ", 64<<10)+`]`), "the value has 65538 bytes, and an operator may choose one of at most 65536"},
		{"mistyped", set("queueing.worker_limit", `"5"`), "is not a whole number"},
	}
	for _, tt := range tests {
		if (tt.err != nil) != (tt.fails != "") || tt.err != nil && !strings.Contains(tt.err.Error(), tt.fails) {
			t.Errorf("%s: error %v, want %q", tt.name, tt.err, tt.fails)
		}
	}
}

func TestFilters(t *testing.T) {
	kex := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Categories: []string{"all"}, Preferred: true}
	pod := selectors.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Preferred: true}
	tests := []struct{ name, value, kex, first, pod, fails string }{
		{"by a name", `{"kopfexamples": "b,a"}`, "b,a", "b,a", "", ""},
		{"with slashes", `{"kopf.dev/v1/kopfexamples": "a", "kopf.dev/kopfexamples": "b", "v1/pods": "c", "kopf.dev/v2/kopfexamples": "d"}`, "a,b", "a", "c", ""},
		{"with dots", `{"kopfexamples.v1.kopf.dev": "a", "kopfexamples.kopf.dev": "b"}`, "a,b", "a", "", ""},
		{"everything", `{"*": "x", "kopf.dev/*": "a"}`, "a,x", "x", "x", ""},
		{"each once, sorted, the first one first", `{"kopfexamples": "z", "KopfExample": "a", "*": "z"}`, "a,z", "z", "z", ""},
		{"objects", `[{"resource": {"category": "all"}, "selector": "a"}, {"resource": {"kind": "Pod"}, "selector": "b"}]`, "a", "a", "b", ""},
		{"none", `{}`, "", "", "", ""},
		{"not an object", `"a=b"`, "", "", "", "want an object of selectors by resources"},
		{"null", `null`, "", "", "", "want an object"},
		{"a selector that is not a string", `{"pods": 5}`, "", "", "", `"pods"`},
		{"an empty selector", `{"pods": ""}`, "", "", "", "the selector is empty"},
		{"too many slashes", `{"a/b/c/d": "x"}`, "", "", "", "impossible resource selector"},
		{"a function", `[{"resource": {"function": true}, "selector": "x"}]`, "", "", "", "functions cannot select here"},
		{"an unknown key", `[{"resource": "pods", "labels": "x"}]`, "", "", "", "unknown field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := settings.Default()
			err := s.Set("watching.label_selectors", json.RawMessage(tt.value))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			f := s.Watching.LabelSelectors
			if err != nil || f.All(kex) != tt.kex || f.First(kex) != tt.first || f.All(pod) != tt.pod {
				t.Errorf("%v: %q, %q, %q; want %q, %q, %q", err, f.All(kex), f.First(kex), f.All(pod), tt.kex, tt.first, tt.pod)
			}
			text, err := json.Marshal(f)
			var again settings.Filters
			if err != nil || again.UnmarshalJSON(text) != nil || again.All(kex) != tt.kex || again.First(kex) != tt.first {
				t.Errorf("%s does not mean the same, %v", text, err)
			}
		})
	}
}
