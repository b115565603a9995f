package calls

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// TestBytesOfRequestsHaveARate: requests wait for it, and are refused if they would wait for too long, or
// are too large for it. The errors name the limit.
func TestBytesOfRequestsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEgress(clients.Rate{PerSecond: 100, Burst: 1000}, 5*time.Second)
		call := &abi.Call{Method: "POST", Path: "https://x.test/", Headers: map[string][]string{"A": {"12345", ""}}}
		size := len("POST" + "https://x.test/" + "A: 12345\r\n" + "A: \r\n")
		began := time.Now()
		take := func(body int) error { return e.admit(t.Context(), call, body) }
		if err := take(1000 - size); err != nil || time.Since(began) > 0 || e.delayed.Load() != 0 {
			t.Errorf("all at once: %v after %v", err, time.Since(began))
		}
		if err := take(300 - size); err != nil || time.Since(began) != 3*time.Second || e.delayed.Load() != 1 {
			t.Errorf("300 bytes more: %v after %v", err, time.Since(began))
		}
		for _, tt := range []struct {
			body       int
			code, says string
		}{
			{600, abi.CallTimeout, "POST https://x.test/: the limit EgressRate of 100 bytes a second is reached, and 634 more would wait for 6s: send less, or raise the limit with --limit EgressRate=SIZE"},
			{1000, abi.CallTooLarge, "POST https://x.test/: the request has 1034 bytes; the limit EgressBurst is 1000: send less, or raise the limit with --limit EgressBurst=SIZE"},
		} {
			var refused *refusal
			if err := take(tt.body); !errors.As(err, &refused) || refused.code != tt.code || refused.message != tt.says {
				t.Errorf("%d bytes: %v", tt.body, err)
			}
		}
		if time.Since(began) != 3*time.Second || e.delayed.Load() != 3 {
			t.Errorf("refused after %v, %d times", time.Since(began), e.delayed.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.admit(ctx, call, 400-size); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled handler: %v", err)
		}
		if err := take(100 - size); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("a refused or cancelled request has used bytes: %v after %v", err, time.Since(began))
		}
	})
}

// TestRedirectsCountBytesAgain: a body that follows a redirect leaves twice.
func TestRedirectsCountBytesAgain(t *testing.T) {
	arrived := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived++; r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	body := abi.Raw(`"` + strings.Repeat("x", 600) + `"`)
	call := &abi.Call{Target: abi.TargetHTTP, Method: "POST", Path: server.URL + "/", Body: body}
	options := Options{Grants: grantsOf(t, server.URL), Egress: clients.Rate{PerSecond: 1, Burst: 1000}}
	answer := caller(t, options).Call(t.Context(), call, "", nil)
	if codeOf(answer) != abi.CallTimeout || !strings.Contains(answer.Error.Message, "the limit EgressRate of 1 bytes a second is reached") || arrived != 1 {
		t.Errorf("got %+v after %d requests", answer.Error, arrived)
	}
	options.Egress.Burst = 2000
	if answer := caller(t, options).Call(t.Context(), call, "", nil); answer.Response == nil || arrived != 3 {
		t.Errorf("got %+v after %d requests", answer.Error, arrived)
	}
}
