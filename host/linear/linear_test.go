package linear

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
)

const page = 64 << 10

func TestReserve(t *testing.T) {
	m, err := Reserve(page, 4*page)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	one := m.Reallocate(page)
	one[page-1] = 7
	all := m.Reallocate(4 * page)
	if len(all) != 4*page || &one[0] != &all[0] || all[page-1] != 7 || all[page] != 0 {
		t.Error("growing moved or changed the memory")
	}
	all[4*page-1] = 1
	if m.Reallocate(4*page+1) != nil {
		t.Error("it grew beyond its bound")
	}
	m.Free()
	m.Free()
	if m.Reallocate(page) != nil {
		t.Error("it is usable after its end")
	}
}

func TestMemoriesAreCounted(t *testing.T) {
	var total atomic.Int64
	var all []*Memory
	for range 2 {
		m, err := Reserve(page, 4*page)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		m.CountIn(&total)
		all = append(all, m)
	}
	all[0].Reallocate(3 * page)
	all[0].Reallocate(2 * page) // memories do not shrink
	if got := total.Load(); got != 4*page {
		t.Errorf("%d bytes, want %d", got, 4*page)
	}
	all[0].Free()
	all[0].Free()
	if got := total.Load(); got != page {
		t.Errorf("%d bytes after the end of one, want %d", got, page)
	}
}

func TestReserveTooMuch(t *testing.T) {
	if m, err := Reserve(0, 1<<62); err == nil {
		m.Free()
		t.Error("no error")
	}
}

func TestClone(t *testing.T) {
	if !Supported {
		t.Skip("no images on this system")
	}
	contents := bytes.Repeat([]byte{1, 2, 3, 4}, page/2)
	clear(contents[page/2 : page])
	image, err := NewImage(contents)
	if err != nil {
		t.Fatal(err)
	}
	a, err := image.Clone(4 * page)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Free()
	b, err := image.Clone(4 * page)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	if err := image.Close(); err != nil {
		t.Fatal(err)
	}
	if image.Size() != len(contents) || !bytes.Equal(a.Reallocate(2*page), contents) {
		t.Error("the clone differs from the image")
	}
	mem := a.Reallocate(3 * page)
	mem[0], mem[3*page-1] = 99, 99
	if !bytes.Equal(b.Reallocate(2*page), contents) || b.Reallocate(3 * page)[3*page-1] != 0 {
		t.Error("what one clone wrote is seen in another")
	}
}

// TestMemoriesWithinAPool: a memory that does not fit is refused, one that would not fit any more
// does not grow, and what is freed makes room.
func TestMemoriesWithinAPool(t *testing.T) {
	pool := NewPool(4 * page)
	var all []*Memory
	for range 2 {
		m, err := Reserve(page, 4*page)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		if err := m.Within(pool, 0); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if all[0].Reallocate(4*page) != nil {
		t.Error("it grew beyond the pool")
	}
	if all[0].Reallocate(3*page) == nil || all[0].Reallocate(2*page) == nil {
		t.Error("it did not grow within the pool")
	}
	third, err := Reserve(page, 4*page)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Within(pool, 0); !errors.Is(err, ErrPool) {
		t.Errorf("one more: %v", err)
	}
	third.Free()
	if pool.Used() != 4*page || pool.Refused() != 2 {
		t.Errorf("%d bytes, %d refusals", pool.Used(), pool.Refused())
	}
	all[0].Free()
	all[0].Free()
	if pool.Used() != page || all[1].Reallocate(4*page) == nil {
		t.Errorf("%d bytes after the end of one", pool.Used())
	}
}
