package calls

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/kopf-wasm/kopf/abi"
)

// trust says which addresses a name may have. Names are resolved by others than
// those who grant them, so a granted name must not lead to the host's own services.
type trust int

const (
	publicOnly trust = iota // a pattern covers the name: nobody has looked at it
	named                   // it is granted by its name: a service of the cluster, maybe
	literal                 // the address itself, or localhost, is granted
)

// trustIn is the trust in a name, by the best of its grants.
func (g Grants) trustIn(name, port string) trust {
	best := publicOnly
	for _, h := range g.Hosts {
		if h.Port != port || h.isPattern() || h.Name != name {
			continue
		}
		best = max(best, named)
		if _, err := netip.ParseAddr(h.Name); err == nil || h.Name == "localhost" {
			best = literal
		}
	}
	return best
}

// ofMachine are the networks, besides those that netip knows, that may lead to the
// machine itself or to the metadata of its cloud. Those that are translated from
// IPv4 could be anything.
var ofMachine = prefixes("0.0.0.0/8", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fd00:ec2::254/128")

// notPublic are the networks, besides those that netip knows, that are not public.
var notPublic = prefixes("100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func isIn(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

func isOfMachine(a netip.Addr) bool {
	return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() || isIn(ofMachine, a)
}

func isPublic(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !isOfMachine(a) && !isIn(notPublic, a)
}

// allows tells whether a resolved address may be connected to.
func (t trust) allows(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	switch t {
	case literal:
		return true
	case named:
		return !isOfMachine(a)
	}
	return isPublic(a)
}

// control checks the very address that is about to be connected to, after the
// resolution of its name: what was resolved before may have changed.
func (t trust) control(name string) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		resolved, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		if t.allows(resolved) {
			return nil
		}
		message := fmt.Sprintf("%s has the address %s, which is not granted: it is no public one, and only a pattern covers the name; grant it by its name", name, host)
		if t == named {
			message = fmt.Sprintf("%s has the address %s, which is that of the machine or of its cloud; such addresses are granted as they are only", name, host)
		}
		return &refusal{abi.CallNotGranted, message}
	}
}
