package host

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
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

// TestThirtyThousandDaemons: three operators with as many daemons as they may have by default, each with an instance for
// itself, stay below the system's usual limit of mappings.
func TestThirtyThousandDaemons(t *testing.T) {
	if os.Getenv("KOPF_HEAVY") == "" || !linear.Supported {
		t.Skip("SKIPPED: set KOPF_HEAVY=1: it takes a minute and some gigabytes")
	}
	var tasks []*Task
	for operator := range 3 {
		guest := scatterer(3600)
		guest.Names = asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{asm.Cat([]byte{byte(operator)}, asm.Name(strconv.Itoa(operator)))})))
		m, err := load(t, guest.Encode(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, startDaemons(t, m, 10_000)...)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	used, limit := linear.Mappings()
	t.Logf("%d daemons: %d mappings of the process, %d of %d counted", len(tasks), strings.Count(string(maps), "\n"), used, limit)
	for _, task := range tasks {
		task.Release(context.Background())
	}
}
