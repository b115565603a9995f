package networks

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Interfaces cache the addresses of the machine's own interfaces, which change rarely. The
// zero value is empty. It is safe for concurrent use.
type Interfaces struct {
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

// Addresses returns the addresses of all interfaces.
func (i *Interfaces) Addresses() ([]netip.Addr, error) {
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
