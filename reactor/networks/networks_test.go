package networks

import (
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each network of the tables has a name, a source and a valid prefix.
func TestNetworksHaveSources(t *testing.T) {
	for _, n := range slices.Concat(machineNetworks, privateNetworks) {
		prefix, err := netip.ParsePrefix(n.prefix)
		if err != nil || prefix != prefix.Masked() {
			t.Errorf("%s is not a network: %v", n.prefix, err)
		}
		if source, err := url.Parse(n.source); n.name == "" || err != nil || source.Scheme != "https" {
			t.Errorf("%s: name %q, source %q", n.prefix, n.name, n.source)
		}
	}
}

func TestInterfacesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &Interfaces{}
		found, err := i.Addresses()
		if err != nil || !slices.Contains(found, netip.MustParseAddr("127.0.0.1")) {
			t.Fatalf("found %v, %v", found, err)
		}
		i.known = nil
		if kept, _ := i.Addresses(); kept != nil {
			t.Error("they are read for each connection")
		}
		time.Sleep(interfacesKept)
		if again, _ := i.Addresses(); !slices.Equal(again, found) {
			t.Errorf("found %v later, want %v", again, found)
		}
	})
}
