package objects

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// last notes the last declaration.
type last struct {
	hosting.Declaration
	count int
}

func (s *last) Declare(d hosting.Declaration) { s.Declaration, s.count = d, s.count+1 }

func (s *last) Remove(hosting.Key) {}

// TestDeclarationsAreListedInPages: authors choose how many declarations there are and how large. A hundred of them, with as many
// annotations as the API server takes, took a gigabyte at each start of the host.
func TestDeclarationsAreListedInPages(t *testing.T) {
	const count, most = 25, 10
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			if v := r.URL.Query().Get("resourceVersion"); v != "7" {
				t.Errorf("the watch continues from the version %s", v)
			}
			cancel()
			return
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		if limit < 1 || limit > most {
			t.Errorf("a page of %d objects", limit)
		}
		list := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": api.APIVersion, "kind": "WasmOperatorList"}}
		list.SetResourceVersion("7")
		for i := from; i < min(from+limit, count); i++ {
			list.Items = append(list.Items, *declared(fmt.Sprint("o", i), nil))
		}
		if from+limit < count {
			list.SetContinue(strconv.Itoa(from + limit))
		}
		text, _ := list.MarshalJSON()
		_, _ = w.Write(text)
	}))
	defer server.Close()
	s, err := New(Options{Config: &rest.Config{Host: server.URL}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	to, known := &last{}, map[hosting.Key]bool{}
	_, _ = s.listAndWatch(ctx, place{api.Namespaced, ""}, to, known) // until the watch
	if to.count != count || len(known) != count {
		t.Errorf("%d declarations, %d known", to.count, len(known))
	}
}

func declared(name string, annotations map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.APIVersion, "kind": string(api.Namespaced), "metadata": map[string]any{"name": name, "namespace": "ns", "annotations": annotations},
		"spec": map[string]any{"module": "ghcr.io/me/op:v1", "serviceAccountName": "sa"},
	}}
}

// TestAnnotationsCostLittle: each change of a declaration is read in one goroutine for all tenants.
func TestAnnotationsCostLittle(t *testing.T) {
	annotations := map[string]any{RetryAnnotation: "now"}
	for i := range 60_000 {
		annotations[fmt.Sprintf("%04x", i)] = ""
	}
	to, s := &last{}, &Source{written: newWriter(nil, zerolog.Nop()), guard: newGuard(nil, zerolog.Nop())}
	allocated := boundedtest.Allocated(func() { s.changed(to, map[hosting.Key]bool{}, api.Namespaced, declared("a", annotations)) })
	if allocated > 1<<20 || to.Retry != "now" || to.Problem != nil || to.Spec.ServiceAccountName != "sa" {
		t.Errorf("%d KiB allocated for %+v", allocated>>10, to.Declaration)
	}
}
