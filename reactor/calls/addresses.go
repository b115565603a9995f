package calls

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/networks"
)

// trust says which addresses a name may resolve to. The owner of a name controls its
// addresses, so a granted name must not lead to the host's own services.
type trust int

const (
	publicOnly trust = iota // only a pattern covers the name, so its owner is unknown
	confined                // the name is granted by someone who may not grant private addresses
	named                   // the name itself is granted; it may be a service of the cluster
	loopback                // localhost is granted
	literal                 // the address is granted as such
)

// reaches reports whether a grant covers a name and a port, with any scheme.
func (g Grants) reaches(name, port string) bool {
	return slices.ContainsFunc(g.Hosts, func(h Host) bool { return h.Port == port && h.coversName(name) })
}

// trustIn returns the trust in a name, from its most specific grant.
func (g Grants) trustIn(name, port string) trust {
	best := publicOnly
	for _, h := range g.Hosts {
		if h.Port != port || h.isPattern() || h.Name != name {
			continue
		}
		best = max(best, named)
		if h.Name == "localhost" {
			best = max(best, loopback)
		}
		if _, err := netip.ParseAddr(h.Name); err == nil {
			best = literal
		}
	}
	return best
}

// trustIn returns the trust in a granted name.
func (o *Options) trustIn(name, port string) trust {
	t := o.Grants.trustIn(name, port)
	if o.Confined && !slices.ContainsFunc(o.Private, func(h Host) bool { return h.Port == port && h.coversName(name) }) {
		return min(t, confined)
	}
	return t
}

// allows reports whether a connection to a resolved address is allowed; own are the
// addresses of the machine's interfaces.
func (t trust) allows(a netip.Addr, own []netip.Addr) bool {
	a = a.Unmap().WithZone("")
	switch t {
	case literal:
		return true
	case loopback:
		return a.IsLoopback()
	case named:
		return !networks.IsOfMachine(a) && !slices.Contains(own, a)
	}
	return networks.IsPublic(a) && !slices.Contains(own, a)
}

// control checks the address of the connection itself, after the name was resolved: an
// earlier check could have seen another address.
func (t trust) control(name string, own func() ([]netip.Addr, error)) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		resolved, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		addresses, err := own()
		if err != nil {
			return fmt.Errorf("the addresses of this machine: %w", err)
		}
		if t.allows(resolved, addresses) {
			return nil
		}
		return &refusal{abi.CallNotGranted, fmt.Sprintf("%s has the address %s, which is not granted: %s", name, host, t.reason(resolved, addresses))}
	}
}

// reason returns why an address is not allowed.
func (t trust) reason(a netip.Addr, own []netip.Addr) string {
	switch {
	case t == loopback:
		return "it is not a loopback address"
	case t == confined && named.allows(a, own):
		return "it is not public; the administrator of the host can allow it: --allow-private-host"
	case !named.allows(a, own):
		return "it belongs to the machine or its cloud; grant the address itself"
	}
	return "it is not public, and only a pattern covers the name; grant the name itself"
}
