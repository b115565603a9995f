package linear

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// mapped is how many mappings the process has.
func mapped(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("\n"))
}

// TestMappings: a clone takes no more mappings than are counted for it, whatever it does.
func TestMappings(t *testing.T) {
	const clones = 300
	image, err := NewImage(make([]byte, 4*page))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	used, _ := Mappings()
	before := mapped(t)
	for i := range clones {
		m, err := image.Clone(64 * page)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		mem := m.Reallocate(uint64(4+i%3) * page) // some grow
		for at := 0; at < len(mem); at += page {
			mem[at] = byte(i) | 1
		}
	}
	now, _ := Mappings()
	counted, there := int(now-used), mapped(t)-before
	if there > counted+50 { // for the Go runtime meanwhile
		t.Errorf("%d clones take %d mappings, %d are counted", clones, there, counted)
	}
	if reservesOpen && counted != 2*clones {
		t.Errorf("%d are counted, want %d", counted, 2*clones)
	}
	t.Logf("%d clones: %d mappings", clones, there)
}

// TestLimitOfMappings: what would be too many is refused with what to do, and possible again when others are freed.
func TestLimitOfMappings(t *testing.T) {
	image, err := NewImage(make([]byte, page))
	if err != nil {
		t.Fatal(err)
	}
	used, _ := Mappings()
	perClone := mappingsOfMemory() + mappingsOfClone
	defer LimitMappings(int(used + perClone))()
	first, err := image.Clone(page)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"a clone":       func() error { _, err := image.Clone(page); return err },
		"a reservation": func() error { _, err := Reserve(0, page); return err },
	} {
		if err := try(); !errors.Is(err, ErrMappings) || !strings.Contains(err.Error(), "sysctl -w vm.max_map_count=262144") {
			t.Errorf("%s: %v", name, err)
		}
	}
	first.Free()
	first.Free()
	second, err := image.Clone(page)
	if err != nil {
		t.Fatalf("after another one was freed: %v", err)
	}
	second.Free()
	if err := image.Close(); err != nil {
		t.Fatal(err)
	}
	if now, _ := Mappings(); now != used {
		t.Errorf("%d mappings are counted, want %d", now, used)
	}
}

func TestUsableMappings(t *testing.T) {
	for limit, want := range map[int64]int64{65530: 61434, 262144: 258048, 1000: 750, 16384: 12288} {
		if got := usableMappings(limit); got != want {
			t.Errorf("of %d: %d, want %d", limit, got, want)
		}
	}
	if got := usableMappings(0); got < 1<<60 {
		t.Errorf("without a limit: %d", got)
	}
}

// TestReservationsHaveNoHugePages: else one byte that is touched would take 2 MiB.
func TestReservationsHaveNoHugePages(t *testing.T) {
	m, err := Reserve(page, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	begin := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.buf))))
	inside := false
	for line := range strings.Lines(string(smaps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= begin && begin < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside && !slices.Contains(strings.Fields(flags), "nh") {
			t.Errorf("the flags of the mapping are %s", flags)
		}
	}
}

// TestATenantHasHalfOfTheMappings: with all of its pools. Another tenant gets the rest.
func TestATenantHasHalfOfTheMappings(t *testing.T) {
	image, err := NewImage(make([]byte, page))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	greedy := &accounts.Tenant{}
	one, two, other := NewPool(1<<40), NewPool(1<<40), NewPool(1<<40)
	one.Of(accounts.NewCharge(greedy))
	two.Of(accounts.NewCharge(greedy))
	other.Of(accounts.NewCharge(&accounts.Tenant{}))
	clone := func(pool *Pool) (*Memory, error) {
		m, err := image.Clone(page)
		if err == nil {
			t.Cleanup(m.Free)
			if err = m.Within(pool, 0); err != nil {
				m.Free()
			}
		}
		return m, err
	}
	used, _ := Mappings()
	perClone := mappingsOfMemory() + mappingsOfClone
	limit := used + 100*perClone
	defer LimitMappings(int(limit))()
	var last *Memory
	count := int64(0)
	for ; count < 100; count++ {
		var m *Memory
		if m, err = clone([]*Pool{one, two}[count%2]); err != nil {
			break
		}
		last = m
	}
	if count != limit/2/perClone || !errors.Is(err, ErrMappings) || !strings.Contains(err.Error(), "of the namespace") {
		t.Errorf("%d clones, then %v", count, err)
	}
	if _, err := clone(other); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	last.Free()
	if _, err := clone(one); err != nil {
		t.Errorf("after one was freed: %v", err)
	}
}
