package operator

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

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
