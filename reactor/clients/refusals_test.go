package clients_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// TestUnpatchedResources: a resource whose objects the account may not patch is named from the first attempt on, until a patch of one
// of its objects succeeds. What is refused for one object only is not named.
func TestUnpatchedResources(t *testing.T) {
	refused := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"kind":"Status","code":403,"message":"User \"x\" cannot patch resource \"things\""}`)
	}
	const first, second, other = apipath.Path("/apis/g/v1/namespaces/n/things/a"), apipath.Path("/apis/g/v1/namespaces/n/things/b"), apipath.Path("/apis/g/v1/namespaces/m/things/c")
	client, _ := serve(t, clients.Options{Backoffs: backoffs.Seconds(0.01)}, refused, ok, refused, refused, ok, status(403), status(403), ok)
	patch := func(path apipath.Path, during int) {
		t.Helper()
		_, _ = client.PatchInto(t.Context(), path, clients.MergePatch, []byte(`{}`), clients.Hooks{Pausing: func() {
			if n := len(client.Unpatched()); n != during {
				t.Errorf("%d resources are named before the next attempt, want %d", n, during)
			}
		}}, nil)
	}
	has := func(n int) {
		t.Helper()
		if texts := client.Unpatched(); len(texts) != n || n > 0 && !strings.Contains(texts[0], "cannot patch resource") {
			t.Errorf("%q are named, want %d", texts, n)
		}
	}
	patch(first, 1)
	has(0)
	patch(first, 1)
	has(1)
	patch(other, 1)
	has(1)
	patch(other, 1) // for one object only
	has(1)
	patch(second, 0)
	has(0)
}
