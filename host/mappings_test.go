package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/linear"
)

// TestTooManyMappings: before the system refuses mappings, which ends the process, the host refuses instances. What is
// released makes room.
func TestTooManyMappings(t *testing.T) {
	if !linear.Supported {
		t.Skip("no images on this system")
	}
	m, err := load(t, minimalWaiter(), Options{MaxIdle: 1, RetireCalls: 1})
	if err != nil {
		t.Fatal(err)
	}
	first := startDaemons(t, m, 1)[0]
	used, _ := linear.Mappings()
	one := startDaemons(t, m, 1)[0]
	now, _ := linear.Mappings()
	t.Cleanup(linear.LimitMappings(int(now + 3*(now-used))))
	tasks := startDaemons(t, m, 3)
	for range 3 {
		_, _, err := m.Start(t.Context(), daemon("wait"), nil, &testEnv{})
		if !errors.Is(err, abi.ErrNoRoom) || errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), "vm.max_map_count") {
			t.Fatalf("one more: %v", err)
		}
	}
	if u := m.Usage(); u.Daemons != 5 || u.Living != 5 {
		t.Errorf("%d instances of daemons, %d in all, after refusals", u.Daemons, u.Living)
	}
	for _, task := range append(tasks, first, one) {
		task.Release(t.Context())
	}
	startDaemons(t, m, 3)
}
