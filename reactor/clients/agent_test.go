package clients_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

func TestUserAgentsNameTheOperator(t *testing.T) {
	for _, tt := range []struct{ version, operator, agent, manager string }{
		{"", "", "kopf", "kopf"},
		{"v1.2.3", "", "kopf/v1.2.3", "kopf"},
		{"v1.2.3+dirty", "archiver", "kopf/v1.2.3+dirty (archiver)", "kopf-archiver"},
		{"devel", "a b.c-d_e/f", "kopf/devel (a b.c-d_e/f)", "kopf-a b.c-d_e/f"},
		{"1 2", "x) evil/1 (y", "kopf/1_2 (x_ evil/1 _y)", "kopf-x) evil/1 (y"},
		{"1", "x\r\nAuthorization: y", "kopf/1 (x__Authorization: y)", "kopf-x__Authorization: y"},
		{"1", "bücher\x00\xff\u202e", "kopf/1 (b_cher___)", "kopf-bücher___"},
		{"1", strings.Repeat("é", 500), "kopf/1 (" + strings.Repeat("_", 200) + ")", "kopf-" + strings.Repeat("é", 61)},
	} {
		agent, manager := clients.UserAgent(tt.version, tt.operator), clients.FieldManager(tt.operator)
		if agent != tt.agent || manager != tt.manager {
			t.Errorf("%q, %q: got %q and %q, want %q and %q", tt.version, tt.operator, agent, manager, tt.agent, tt.manager)
		}
		if !httpguts.ValidHeaderFieldValue(agent) || !clients.IsFieldManager(manager) {
			t.Errorf("%q or %q cannot be sent", agent, manager)
		}
		if owner, _, _ := strings.Cut(agent, "/"); tt.version != "" && owner != "kopf" {
			t.Errorf("%q makes %q the owner of fields", agent, owner)
		}
	}
	for _, name := range []string{"x\n", "\x00", "\xff", "\u202e", strings.Repeat("x", 129)} {
		if clients.IsFieldManager(name) {
			t.Errorf("%.20q is taken for a field manager", name)
		}
	}
}

// All requests have the user agent, unless the credentials set one.
func TestRequestsHaveTheUserAgent(t *testing.T) {
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		ok(w)
	}))
	defer server.Close()
	for own, want := range map[string]string{"": "kopf/1 (x)", "mine/2": "mine/2"} {
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL, UserAgent: own}})
		client := clients.New(vault, func() clients.Options { return clients.Options{UserAgent: "kopf/1 (x)"} }, func(string) {})
		for name, send := range map[string]func() error{
			"get":   func() error { _, err := client.Get(t.Context(), "/x", nil); return err },
			"patch": func() error { _, err := client.Patch(t.Context(), "/x", clients.MergePatch, nil); return err },
			"discover": func() error {
				_, _, err := client.Discover(t.Context(), "/api", "application/json")
				return err
			},
			"stream": func() error {
				body, err := client.Stream(t.Context(), "/x", nil, clients.Hooks{})
				if err == nil {
					err = body.Close()
				}
				return err
			},
			"send": func() error {
				rsp, err := client.Send(t.Context(), http.MethodGet, "/x", nil, http.Header{}, nil)
				if err == nil {
					err = rsp.Body.Close()
				}
				return err
			},
		} {
			if err := send(); err != nil {
				t.Fatal(err)
			}
			if got := <-agents; got != want {
				t.Errorf("%s: the user agent is %q, want %q", name, got, want)
			}
		}
	}
}
