package calls

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// trust says which addresses a name may resolve to. The owner of a name controls its
// addresses, so a granted name must not lead to the host's own services.
type trust int

const (
	publicOnly trust = iota // only a pattern covers the name, so its owner is unknown
	named                   // the name itself is granted; it may be a service of the cluster
	loopback                // localhost is granted
	literal                 // the address is granted as such
)

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
		return !isOfMachine(a) && !slices.Contains(own, a)
	}
	return isPublic(a) && !slices.Contains(own, a)
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
	case !named.allows(a, own):
		return "it belongs to the machine or its cloud; grant the address itself"
	}
	return "it is not public, and only a pattern covers the name; grant the name itself"
}

// interfaces caches the addresses of the machine's own interfaces: guests connect often,
// and the addresses change rarely.
type interfaces struct {
	mu    sync.Mutex // guards the fields below
	until time.Time
	known []netip.Addr
}

// interfacesKept is how long the cached addresses are used.
const interfacesKept = 5 * time.Second

// servicesInterface holds the addresses of all services of a cluster on nodes whose
// kube-proxy uses IPVS. These addresses do not belong to the machine.
//
// See https://kubernetes.io/docs/reference/networking/virtual-ips/#proxy-mode-ipvs
const servicesInterface = "kube-ipvs0"

// addresses returns the addresses of all interfaces.
func (i *interfaces) addresses() ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Now().Before(i.until) {
		return i.known, nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var known []netip.Addr
	for _, one := range all {
		if one.Name == servicesInterface {
			continue
		}
		addresses, err := one.Addrs()
		if err != nil {
			return nil, err
		}
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil {
				known = append(known, prefix.Addr().Unmap().WithZone(""))
			}
		}
	}
	i.known, i.until = known, time.Now().Add(interfacesKept)
	return known, nil
}
