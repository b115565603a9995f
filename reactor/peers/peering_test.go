package peers_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/peers"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, raw string
		want      peers.Record
		fails     string
	}{
		{"empty", `{}`, peers.Record{Lifetime: 60, LastSeen: "2026-01-02T03:04:05+00:00"}, ""},
		{"full", `{"priority":-3,"lifetime":"30","lastseen":"2020-01-01T00:00:00.5Z"}`, peers.Record{Priority: -3, Lifetime: 30, LastSeen: "2020-01-01T00:00:00.500000+00:00"}, ""},
		{"a time with a zone", `{"lastseen":"2020-01-01T00:00:00+02:00"}`, peers.Record{Lifetime: 60, LastSeen: "2020-01-01T00:00:00+02:00"}, ""},
		{"a fraction of a second", `{"lifetime":1.9}`, peers.Record{Lifetime: 1, LastSeen: "2026-01-02T03:04:05+00:00"}, ""},
		{"a priority as a text", `{"priority":"7","lifetime":0}`, peers.Record{Priority: 7, LastSeen: "2026-01-02T03:04:05+00:00"}, ""},
		{"a huge priority", `{"priority":1e300}`, peers.Record{Priority: math.MaxInt32, Lifetime: 60, LastSeen: "2026-01-02T03:04:05+00:00"}, ""},
		{"not an object", `7`, peers.Record{}, "the record of the peer id"},
		{"a bad time", `{"lastseen":"bad"}`, peers.Record{}, "lastseen"},
		{"a bad lifetime", `{"lifetime":"1.5"}`, peers.Record{}, "lifetime"},
		{"no lifetime", `{"lifetime":null}`, peers.Record{}, "lifetime"},
		{"a bad priority", `{"priority":"high"}`, peers.Record{}, "priority"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			peer, err := peers.Parse("id", []byte(tt.raw), now)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error: %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, peer.Record()); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	const object = `{"status":{
		"me":{"priority":10,"lastseen":"2000-01-01T00:00:00Z"},
		"prior":{"priority":11,"lifetime":60,"lastseen":"2000-01-01T00:00:00Z"},
		"same":{"priority":10,"lifetime":30,"lastseen":"2000-01-01T00:00:00Z"},
		"lower":{"priority":9,"lifetime":600,"lastseen":"2000-01-01T00:00:00Z"},
		"gone":{"priority":99,"lifetime":0,"lastseen":"2000-01-01T00:00:00Z"},
		"odd":{"lastseen":"bad"}}}`
	type names struct{ Prior, Same, Dead []string }
	synctest.Test(t, func(t *testing.T) { // the clock begins at 2000-01-01
		begin := time.Now()
		steps := []struct {
			after  time.Duration
			want   names
			until  time.Duration
			pauses bool
		}{
			{0, names{Prior: []string{"prior"}, Same: []string{"same"}, Dead: []string{"gone"}}, 30 * time.Second, true},
			{30 * time.Second, names{Prior: []string{"prior"}, Dead: []string{"gone", "same"}}, 60 * time.Second, true},
			{60 * time.Second, names{Dead: []string{"gone", "prior", "same"}}, 0, false},
		}
		for _, step := range steps {
			time.Sleep(time.Until(begin.Add(step.after)))
			all, failures := peers.ParseObject([]byte(object), time.Now())
			if len(failures) != 1 || len(all) != 5 {
				t.Fatalf("%d peers, failures: %v", len(all), failures)
			}
			v := peers.Judge(all, "me", 10, time.Now())
			got := names{identities(v.Prior), identities(v.Same), identities(v.Dead)}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", step.after, diff)
			}
			if v.Pauses() != step.pauses {
				t.Errorf("after %v: pauses: %v", step.after, v.Pauses())
			}
			if until := v.Until(); step.pauses && !until.Equal(begin.Add(step.until)) || until.IsZero() == step.pauses {
				t.Errorf("after %v: until %v", step.after, until)
			}
		}
	})
}

func identities(peers peers.Peers) []string {
	var list []string
	for _, peer := range peers {
		list = append(list, peer.Identity)
	}
	return list
}

func TestKeepAlive(t *testing.T) {
	tests := []struct{ lifetime, jitter, want time.Duration }{
		{60 * time.Second, 5 * time.Second, 55 * time.Second},
		{60 * time.Second, 10 * time.Second, 50 * time.Second},
		{7 * time.Second, 10 * time.Second, time.Second},
		{0, 5 * time.Second, time.Second},
	}
	for _, tt := range tests {
		if got := peers.KeepAlive(tt.lifetime, tt.jitter); got != tt.want {
			t.Errorf("lifetime %v, jitter %v: %v, want %v", tt.lifetime, tt.jitter, got, tt.want)
		}
	}
}

func TestIdentity(t *testing.T) {
	started := time.Date(2026, 1, 2, 5, 4, 5, 0, time.FixedZone("", 2*3600))
	salt := peers.Salt(func(int) int { return 1 })
	if got, want := peers.Identity("me", "host", started, salt), "me@host/20260102030405/bbb"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDescribeHost(t *testing.T) {
	tests := []struct {
		name     string
		names    []string
		fallback string
		want     string
	}{
		{"a full name", []string{"short", "host.example.com."}, "x", "host.example.com"},
		{"a short name", []string{"localhost", "10.0.0.1", "short"}, "x", "short"},
		{"reversed addresses", []string{"1.0.0.127.in-addr.arpa", "::1"}, "x.local", "x"},
		{"none", nil, "x.local.localdomain", "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := peers.DescribeHost(tt.names, tt.fallback); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPeersInMessages(t *testing.T) {
	peers, _ := peers.ParseObject([]byte(`{"status":{"a":{"priority":1,"lifetime":2,"lastseen":"2020-01-01T00:00:00Z"}}}`), time.Now())
	if got, want := peers.String(), "[<Peer a: priority=1, lifetime=2, lastseen='2020-01-01T00:00:00+00:00'>]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
