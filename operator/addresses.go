package operator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/kopf-wasm/kopf/reactor/networks"
)

// ErrNotPublic says that an address leads to the machine, its cloud or a private network.
var ErrNotPublic = errors.New("the address is not public")

// interfaces are those of the machine. They belong to the process.
var interfaces networks.Interfaces //nolint:gochecknoglobals // a cache

// CheckPublic refuses addresses that are not public, and those of this machine. Use it for
// connections to servers that untrusted users name.
//
// Errors: ErrNotPublic.
func CheckPublic(a netip.Addr) error {
	own, err := interfaces.Addresses()
	if err != nil {
		return fmt.Errorf("the addresses of this machine: %w", err)
	}
	if a = a.Unmap().WithZone(""); networks.IsPublic(a) && !slices.Contains(own, a) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotPublic, a)
}
