package operator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

func TestLeaseOfReplicas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options         Options
		registered      string
		namespace, name string // empty name: refused
	}{
		"the name of the operator":    {Options{Replicas: Replicas{Leader: true}}, "My+Operator", "", "my.operator"},
		"a name":                      {Options{Replicas: Replicas{Leader: true, Lease: "x"}}, "op", "", "x"},
		"a namespace and a name":      {Options{Replicas: Replicas{Leader: true, Lease: "ns/x"}}, "op", "ns", "x"},
		"no name":                     {Options{Replicas: Replicas{Leader: true}}, "", "", ""},
		"a namespace only":            {Options{Replicas: Replicas{Leader: true, Lease: "ns/"}}, "", "", ""},
		"a name only, with its slash": {Options{Replicas: Replicas{Leader: true, Lease: "/x"}}, "op", "", ""},
		"too many parts":              {Options{Replicas: Replicas{Leader: true, Lease: "a/b/c"}}, "op", "", ""},
		"a short duration":            {Options{Replicas: Replicas{Leader: true, Duration: time.Second}}, "op", "", ""},
		"shares":                      {Options{Replicas: Replicas{Shared: true}}, "op", "", "op"},
		"both modes":                  {Options{Replicas: Replicas{Leader: true, Shared: true}}, "op", "", ""},
		"shares in a peering":         {Options{Replicas: Replicas{Shared: true}, Peering: Peering{Name: "x"}}, "op", "", ""},
		"shares with a priority":      {Options{Replicas: Replicas{Shared: true}, Peering: Peering{Priority: new(5)}}, "op", "", ""},
		"shares, once":                {Options{Replicas: Replicas{Shared: true}, Once: true}, "op", "", ""},
		"once":                        {Options{Replicas: Replicas{Leader: true}, Once: true}, "op", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease, err := test.options.lease(test.registered)
			if test.name == "" {
				if !errors.Is(err, ErrReplicas) {
					t.Fatalf("got %+v, %v", lease, err)
				}
				return
			}
			if err != nil || lease.Namespace != test.namespace || lease.Name != test.name {
				t.Errorf("got %+v, %v", lease, err)
			}
		})
	}
	if lease, err := (&Options{Replicas: Replicas{Shared: true}}).lease("op"); err != nil || !lease.Shared {
		t.Errorf("with shares: %+v, %v", lease, err)
	}
	if lease, err := (&Options{}).lease("op"); lease != nil || err != nil {
		t.Errorf("without replicas: %+v, %v", lease, err)
	}
}

// TestLogLinesKnowTheirReplica: each line has the name that the Lease has.
func TestLogLinesKnowTheirReplica(t *testing.T) {
	t.Parallel()
	server := apiserver.New(nil)
	lease := dicts.Object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": dicts.Object{"name": "op", "namespace": "default"}}
	if err := server.Apply(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	var out reactortest.Output
	guest := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindStartup, "startup_fn", ""), guesttest.Declared(abi.KindCreate, "create_fn", "")}}
	guest.Handlers[1].Resource = &abi.Selector{Version: "v1", Plural: "pods"}
	options := inMemory(server, Options{Guests: []guests.Guest{guest}, Replicas: Replicas{Leader: true, Lease: "default/op"}})
	options.Log = logs.New(&out, logs.Options{Format: logs.JSON})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	op, err := New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx) }() // Waited for below.
	for !op.reactor.Counts().Leads {
		select {
		case <-ctx.Done():
			t.Fatalf("it is not the leader:\n%s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	holder := dicts.LookupString(server.Get(apiserver.Reference{Kind: "Lease", Name: "op"}), "spec", "holderIdentity")
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 3 || holder == "" {
		t.Errorf("%q holds the lease, and there are %d lines", holder, len(lines))
	}
	for _, line := range lines {
		var record struct{ Replica string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Replica != holder {
			t.Errorf("%v: the line is not of %q: %s", err, holder, line)
		}
	}
}

func TestReplicasShareACertificate(t *testing.T) {
	t.Parallel()
	for server, good := range map[string]bool{
		`"server"`:           false,
		`{"type": "server"}`: false,
		`{"type": "server", "secret": {"namespace": "a", "name": "b"}}`: true,
		`{"type": "server", "certfile": "x"}`:                           true,
	} {
		err := Replicas{Leader: true}.check(settings.Admission{Server: json.RawMessage(server), Managed: "x"})
		if errors.Is(err, ErrReplicas) == good {
			t.Errorf("%s: %v", server, err)
		}
	}
	if err := (Replicas{Leader: true}).check(settings.Admission{Server: json.RawMessage(`"server"`)}); err != nil {
		t.Errorf("configurations that others keep: %v", err)
	}
}
