package finalizers_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// worst serves pods as tenants can make them: with as many annotations as the API server takes, of four bytes each.
type worst struct {
	server
	annotations []byte
	count       int
}

func (s *worst) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		s.server.ServeHTTP(w, r)
		return
	}
	var page bytes.Buffer
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to := min(from+limit, s.count)
	for i := from; i < to; i++ {
		fmt.Fprintf(&page, `,{"metadata":{"name":"o%d","namespace":"ns1","uid":"u%[1]d","resourceVersion":"1","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":[%q],"annotations":{%s}}}`, i, own, s.annotations)
	}
	next := ""
	if to < s.count {
		next = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`, next, bytes.TrimPrefix(page.Bytes(), []byte(",")))
}

// TestLargeObjects: tenants choose how large their objects are, and how many of their operators leave at the same time. A page
// of such objects took seven hundred megabytes and five seconds of a processor, every five seconds and in no account.
func TestLargeObjects(t *testing.T) {
	s := &worst{count: 100}
	for i := range 60_000 {
		s.annotations = fmt.Appendf(s.annotations, `,"%04x":""`, i)
	}
	s.annotations = s.annotations[1:]
	api := httptest.NewServer(s)
	defer api.Close()
	computed := 0
	f := finalizers.New(t.Context(), finalizers.Options{
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: &rest.Config{Host: api.URL}}, nil
		},
		Finalizer: own, Resources: []string{"pods.v1"}, Namespaces: []string{"ns1"},
		Compute: func(_ context.Context, do func()) {
			computed++
			if taken := boundedtest.Allocated(do); taken > 4<<20 {
				t.Errorf("decoding a page takes %d KiB", taken>>10)
			}
		},
	})
	defer f.Close()
	if n, err := f.Deleting(t.Context()); n != s.count || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}
	if computed < 2 {
		t.Errorf("%d pages count as computing of the operator", computed)
	}
}

// TestManyResources: any account that may write the status of a declaration chooses the resources in it. To look for 200,000 among those
// of a cluster took a seventh of a second of a processor, every five seconds for up to a day, and in no account.
func TestManyResources(t *testing.T) {
	api := httptest.NewServer(&server{})
	defer api.Close()
	computed := 0
	f := finalizers.New(t.Context(), finalizers.Options{
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: &rest.Config{Host: api.URL}}, nil
		},
		Finalizer: own, Resources: slices.Repeat([]string{"forged.v1"}, 1000), Namespaces: []string{"ns1"},
		Compute: func(_ context.Context, do func()) {
			computed++
			do()
		},
	})
	defer f.Close()
	if n, err := f.Deleting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}
	if computed != 1 {
		t.Errorf("the search counts %d times as computing of the operator", computed)
	}
}
