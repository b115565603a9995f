package certificates

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// trusts reports whether clients of one bundle trust the certificate of another one.
func trusts(client, server *bundle, name string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(client.pair().Authorities)
	_, err := server.leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: name})
	return err
}

// TestRotation: in many months of a schedule, clients and servers that are late by
// almost the overlap trust each other at any time, both ways round.
func TestRotation(t *testing.T) {
	const step = 30 * time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := Schedule{Authority: 30 * 24 * time.Hour, Leaf: 7 * 24 * time.Hour, Overlap: time.Hour}
	var current *bundle
	var late []*bundle // those of the last overlap
	leaves, authorities := map[string]bool{}, map[string]bool{}
	for now := start; now.Before(start.Add(100 * 24 * time.Hour)); now = now.Add(step) {
		next, err := s.next(current, []string{"a.example.com", "127.0.0.1"}, now)
		if err != nil {
			t.Fatal(err)
		}
		current = next
		if late = append(late, current); len(late) > int(s.Overlap/step) {
			late = late[1:]
		}
		for i, old := range late {
			if i > 0 && old == late[i-1] {
				continue
			}
			for _, pair := range [][2]*bundle{{old, current}, {current, old}} {
				if err := trusts(pair[0], pair[1], "a.example.com", now); err != nil {
					t.Fatalf("after %v: %v", now.Sub(start), err)
				}
			}
		}
		if n := len(current.authorities); n > 2 {
			t.Fatalf("after %v: %d authorities", now.Sub(start), n)
		}
		leaves[current.leaf.Leaf.SerialNumber.String()] = true
		authorities[current.authorities[0].cert.SerialNumber.String()] = true
	}
	if len(leaves) < 100/7 || len(leaves) > 30 || len(authorities) < 100/30 || len(authorities) > 6 {
		t.Errorf("%d certificates by %d authorities", len(leaves), len(authorities))
	}
}

// TestRotationAfterALongPause: nothing that has expired is used.
func TestRotationAfterALongPause(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first, err := DefaultSchedule.next(nil, []string{"x"}, now)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(3 * 365 * 24 * time.Hour)
	second, err := DefaultSchedule.next(first, []string{"x"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(second.authorities) != 1 || trusts(second, second, "x", now) != nil {
		t.Errorf("%d authorities; %v", len(second.authorities), trusts(second, second, "x", now))
	}
}

// TestNamesOfReplicas: the certificate has the names of all replicas.
func TestNamesOfReplicas(t *testing.T) {
	now := time.Now()
	first, err := DefaultSchedule.next(nil, []string{"x", "0.0.0.0", ""}, now)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := DefaultSchedule.next(first, []string{"x"}, now); err != nil || again != first {
		t.Errorf("a good bundle is replaced: %v", err)
	}
	second, err := DefaultSchedule.next(first, []string{"y", "10.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(second.leaf.Leaf.DNSNames)
	if !slices.Equal(second.leaf.Leaf.DNSNames, []string{"x", "y"}) || len(second.leaf.Leaf.IPAddresses) != 1 {
		t.Errorf("names %v %v", second.leaf.Leaf.DNSNames, second.leaf.Leaf.IPAddresses)
	}
	if again, err := DefaultSchedule.next(second, []string{"x"}, now); err != nil || again != second {
		t.Errorf("the replicas do not agree: %v", err)
	}
}

// TestNamesOfFormerReplicas: pods come and go with names of their own. The certificate does not keep them for ever: a large one
// would be refused as a foreign one.
func TestNamesOfFormerReplicas(t *testing.T) {
	var b *bundle
	for i := range 400 {
		for _, name := range []string{"stays.example.com", fmt.Sprintf("pod-%d.%s", i, strings.Repeat("namespace.", 20))} {
			var err error
			if b, err = DefaultSchedule.next(b, []string{name}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(b.leaf.Leaf.DNSNames, name) {
				t.Fatalf("%s is missing", name)
			}
		}
	}
	data, err := b.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeBundle(data); err != nil {
		t.Error(err)
	}
}
