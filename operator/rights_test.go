package operator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// What is a right of a registration, and what is none.
func TestMoreRights(t *testing.T) {
	const pods, jobs = `"resource":{"args":["pods"]}`, `"resource":{"args":["jobs"]}`
	const before = `{"handlers":[{"kind":"create","id":"a",` + pods + `},{"kind":"startup","id":"s"}],
		"capabilities":{"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get","list"]}],"http":["example.com"],"config":["a"]}}`
	tests := []struct{ name, after, words string }{
		{"the same", before, ""},
		{"less", `{"handlers":[]}`, ""},
		{"another kind of handlers", `{"handlers":[{"kind":"daemon","id":"b",` + pods + `},{"kind":"field","id":"c",` + pods + `}]}`, ""},
		{"activities", `{"handlers":[{"kind":"cleanup","id":"c"},{"kind":"login","id":"l"},{"kind":"background","id":"b"}]}`, ""},
		{"less of a request", `{"handlers":[],"capabilities":{"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get"]}]}}`, ""},
		{"another resource", `{"handlers":[{"kind":"create","id":"a",` + jobs + `}]}`, `object handlers of {"args":["jobs"]}`},
		{"admission", `{"handlers":[{"kind":"validate","id":"v",` + pods + `}]}`, `validate handlers of {"args":["pods"]}`},
		{"conversion", `{"handlers":[{"kind":"convert","id":"v",` + pods + `}]}`, `convert handlers of`},
		{"another verb", `{"handlers":[],"capabilities":{"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get","delete"]}]}}`, "get,delete of secrets"},
		{"other namespaces", `{"handlers":[],"capabilities":{"kubernetes":[{"groups":[""],"resources":["secrets"],"verbs":["get"],"namespaces":["kube-system"]}]}}`, "(kube-system)"},
		{"another host", `{"handlers":[],"capabilities":{"http":["evil.example.com"]}}`, "requests to evil.example.com"},
		{"another key", `{"handlers":[],"capabilities":{"config":["a","token"]}}`, "the configuration token"},
	}
	registration := func(text string) *abi.Registration {
		r, all := &abi.Registration{}, &abi.Registration{Capabilities: &abi.Capabilities{}}
		if err := json.Unmarshal([]byte(text), r); err != nil {
			t.Fatal(err)
		}
		addRights(all, r)
		return all
	}
	for _, tt := range tests {
		more := strings.Join(declaration.More(registration(before), registration(tt.after)), "; ")
		if (more == "") != (tt.words == "") || !strings.Contains(more, tt.words) {
			t.Errorf("%s: %q, want %q", tt.name, more, tt.words)
		}
	}
}
