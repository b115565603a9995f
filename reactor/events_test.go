package reactor

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// poster posts the events of a guest that handles an object.
type poster struct {
	*handling.Env
	events *events.Recorder
	stop   func()
	log    reactortest.Output

	mu   sync.Mutex // guards sent
	sent []string   // method and URI of the requests
}

// newPoster makes a poster for namespaces and grants. The handled object is a pod in ns1.
func newPoster(t *testing.T, namespaces []string, grants []string, answer func(http.ResponseWriter, *http.Request)) *poster {
	t.Helper()
	p := &poster{}
	op := configured(t, nil)
	served(t, op, func(_ int, w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.sent = append(p.sent, r.Method+" "+r.RequestURI)
		p.mu.Unlock()
		answer(w, r)
	})
	var rules []calls.Rule
	for _, grant := range grants {
		rule, err := calls.ParseRule(grant)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	log := zerolog.New(&p.log)
	p.events = events.New(op.Settings)
	p.stop = p.events.Start(t.Context(), op.client, "context", zerolog.Nop())
	caller := calls.New(calls.Options{Served: func() []string { return namespaces }, Grants: calls.Grants{Kubernetes: rules}}, func() *clients.Client { return op.client })
	p.Env = &handling.Env{Cause: handling.NewCause(&handling.Object{Services: &handling.Services{Events: p.events, Caller: caller}, Log: loggers.ForObject(&log, "object", handledPod("ns1"))}, nil)}
	return p
}

// requests returns the requests that the server got.
func (p *poster) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

func handledPod(namespace string) dicts.Object {
	return dicts.Object{"apiVersion": "v1", "kind": "Pod", "metadata": dicts.Object{"name": "handled", "uid": "u", "namespace": namespace}}
}

// about makes an event about an object in a namespace; "" means cluster-scoped.
func about(t *testing.T, namespace, name string) abi.Event {
	t.Helper()
	meta := map[string]any{"name": name, "uid": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta})
	if err != nil {
		t.Fatal(err)
	}
	return abi.Event{Level: abi.LevelWarning, Object: object, Type: "Normal", Reason: "R", Message: "m", Backoffs: abi.Raw("[]")}
}

func ignored(http.ResponseWriter, *http.Request) {}

// A guest chooses the namespace of an event, but cannot change the target of the request.
func TestHostileNamespacesOfEventsAreRefused(t *testing.T) {
	for _, namespace := range []string{
		"prod/services/admin:80/proxy/shutdown?x=", "prod/pods/victim/exec?command=id&x=", "prod/serviceaccounts/admin/token?x=",
		"../../../apis/rbac.authorization.k8s.io/v1/clusterrolebindings?x=",
		"..", ".", "/", "a?b", "a#b", "a%2fb", "%2e%2e", "a\x00", "a\r\nX: y", "é", "A", "a.b", "-", " ", strings.Repeat("n", 64),
	} {
		t.Run(namespace, func(t *testing.T) {
			p := newPoster(t, nil, []string{"*:*:*"}, ignored)
			if err := p.Event(about(t, namespace, "n")); err == nil {
				t.Error("the event is accepted")
			}
			p.stop()
			if sent := p.requests(); len(sent) != 0 {
				t.Errorf("requests: %q", sent)
			}
		})
	}
}

// Events about objects other than the handled one need a served namespace or a grant.
func TestNamespacesOfEvents(t *testing.T) {
	tests := []struct {
		name       string
		namespaces []string // served
		grants     []string
		namespace  string // of the object
		want       string // where it is posted; empty: it is refused
		fails      string
	}{
		{"the whole cluster", nil, nil, "prod", "prod", ""},
		{"the whole cluster, without a namespace", nil, nil, "", "context", ""},
		{"served", []string{"ns1"}, nil, "ns1", "ns1", ""},
		{"served by a pattern", []string{"ns*, !ns2"}, nil, "ns3", "ns3", ""},
		{"not served", []string{"ns1"}, nil, "prod", "", "the operator is not granted to create events in prod: --allow-kubernetes create:events:prod"},
		{"excluded", []string{"ns*, !ns2"}, nil, "ns2", "", "not granted to create events in ns2"},
		{"not served, without a namespace", []string{"ns1"}, nil, "", "", "not granted to create events in context"},
		{"granted", []string{"ns1"}, []string{"create:events:prod"}, "prod", "prod", ""},
		{"granted for events of another API", []string{"ns1"}, []string{"create:events.events.k8s.io:prod"}, "prod", "", "not granted"},
		{"granted to read", []string{"ns1"}, []string{"get,list:events:prod"}, "prod", "", "not granted"},
		{"granted elsewhere", []string{"ns1"}, []string{"create:events:test"}, "prod", "", "not granted"},
		{"all is granted", []string{"ns1"}, []string{"*:*:*"}, "prod", "prod", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPoster(t, tt.namespaces, tt.grants, ignored)
			err := p.Event(about(t, tt.namespace, "n"))
			p.stop()
			var want []string
			if tt.want != "" {
				want = []string{"POST /api/v1/namespaces/" + tt.want + "/events"}
			}
			if diff := cmp.Diff(want, p.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if (err == nil) != (tt.fails == "") || err != nil && (!strings.Contains(err.Error(), tt.fails) || !errors.Is(err, abi.ErrDenied)) {
				t.Errorf("error %v, want %q", err, tt.fails)
			}
			if err != nil && !strings.Contains(p.log.String(), tt.fails) {
				t.Errorf("the log has no reason: %s", p.log.String())
			}
		})
	}
}

// Events about the handled object need no grant in any namespace.
func TestEventsAboutTheHandledObjectAreFree(t *testing.T) {
	for _, namespace := range []string{"elsewhere", ""} {
		t.Run(namespace, func(t *testing.T) {
			p := newPoster(t, []string{"ns1"}, nil, ignored)
			body := handledPod(namespace)
			p.Cause.Log.Ref.Namespace = namespace
			object, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			for _, named := range []abi.Raw{nil, object} {
				if err := p.Event(abi.Event{Object: named, Type: "Normal", Reason: "R", Message: "m"}); err != nil {
					t.Error(err)
				}
			}
			p.stop()
			where := "POST /api/v1/namespaces/" + map[string]string{"": "context", "elsewhere": "elsewhere"}[namespace] + "/events"
			if got := p.requests(); !slices.Equal(got, []string{where, where}) {
				t.Errorf("requests %q, want %q twice", got, where)
			}
		})
	}
}

// Refused events, of which guests can cause any number, give one line in the log.
func TestRefusedEventsAreLoggedOnce(t *testing.T) {
	p := newPoster(t, []string{"ns1"}, nil, ignored)
	defer p.stop()
	for range 1000 {
		if err := p.Event(about(t, "prod", "n")); !errors.Is(err, abi.ErrDenied) {
			t.Fatal(err)
		}
	}
	if lines := strings.Count(p.log.String(), "\n"); lines != 1 {
		t.Errorf("%d lines are logged, want 1", lines)
	}
}

// A guest that logs in chooses the namespace of events about cluster-scoped objects only
// if it may post events there.
func TestDefaultNamespacesOfLoginHandlers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		info   credentials.Info
		served []string
		grants []string
		want   string
	}{
		{"of the host", credentials.Info{DefaultNamespace: "any"}, []string{"ns1"}, nil, "any"},
		{"of a guest, served", credentials.Info{DefaultNamespace: "ns1", GuestNamespace: true}, []string{"ns1"}, nil, "ns1"},
		{"of a guest, whole cluster", credentials.Info{DefaultNamespace: "any", GuestNamespace: true}, nil, nil, "any"},
		{"of a guest, granted", credentials.Info{DefaultNamespace: "any", GuestNamespace: true}, []string{"ns1"}, []string{"create:events:any"}, "any"},
		{"of a guest, not served", credentials.Info{DefaultNamespace: "any", GuestNamespace: true}, []string{"ns1"}, nil, ""},
		{"of a guest, none at all", credentials.Info{DefaultNamespace: "../x?", GuestNamespace: true}, nil, []string{"*:*:*"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPoster(t, tt.served, tt.grants, ignored)
			defer p.stop()
			if got := events.NamespaceOfEvents(tt.info, p.Cause.Caller, zerolog.New(&p.log)); got != tt.want {
				t.Errorf("events go to %q, want %q", got, tt.want)
			}
			if ignored := strings.Contains(p.log.String(), "is ignored"); ignored != (tt.want == "") {
				t.Errorf("the log has %s", p.log.String())
			}
		})
	}
}
