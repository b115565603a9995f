package webhooks

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/webhooks/crowd"
)

// TestOperatorsOfANamespaceShareTheirMemory: and not that of another namespace.
func TestOperatorsOfANamespaceShareTheirMemory(t *testing.T) {
	shared := NewShared(&LocalServer{}, Environment{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	memoryAt := func(path string) (found *crowd.Memory) {
		all.Go(func() {
			_ = shared.Part(path).Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { found = sharedOf(r.Context()) }), func(ClientConfig) {})
		})
		for shared.find(path+"/") == nil {
			time.Sleep(time.Millisecond)
		}
		shared.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path+"/fn", nil))
		return found
	}
	one, two, other := memoryAt("/operators/greedy/one"), memoryAt("/operators/greedy/two"), memoryAt("/operators/other/one")
	cancel()
	all.Wait()
	if one == nil || one != two || one == other || one == shared.memory {
		t.Errorf("the memory of two operators of one namespace is %p and %p, of another one %p, and of all %p", one, two, other, shared.memory)
	}
}
