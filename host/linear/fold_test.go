//go:build linux && (amd64 || arm64)

package linear

import (
	"bytes"
	"math/rand"
	"testing"
)

// cloneOf is a clone that can grow up to max bytes.
func cloneOf(t *testing.T, contents []byte, max int) (*Image, *Memory) {
	t.Helper()
	image, err := NewImage(contents)
	if err != nil {
		t.Fatal(err)
	}
	if image.pagemap == nil {
		t.Skip("the system does not tell about pages")
	}
	m, err := image.Clone(max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	return image, m
}

// ownPagesOf is how many pages a memory has that are not those of its image.
func ownPagesOf(t *testing.T, m *Memory) int {
	t.Helper()
	own, ok := m.ownPages()
	if !ok {
		t.Fatal("too many")
	}
	return len(own)
}

// TestFolding: a folded memory takes less, and is afterwards what it was before, however it was
// changed and has grown.
func TestFolding(t *testing.T) {
	for seed := range int64(50) {
		rnd := rand.New(rand.NewSource(seed))
		contents := make([]byte, 2*page)
		rnd.Read(contents[page/2:])
		image, m := cloneOf(t, contents, 4*page)
		size := 2 * page
		for round := range 5 {
			if size < 4*page && rnd.Intn(3) == 0 {
				size += page
				if grown := m.Reallocate(uint64(size))[size-page:]; !bytes.Equal(grown, make([]byte, page)) {
					t.Fatalf("seed %d, round %d: what is new is not zero", seed, round)
				}
			}
			mem := m.Reallocate(uint64(size))
			for range rnd.Intn(15) {
				at := rnd.Intn(size)
				rnd.Read(mem[at:min(size, at+rnd.Intn(200))])
			}
			mem[0], mem[page] = byte(round), byte(round) // two pages at least
			want, before := bytes.Clone(mem), ownPagesOf(t, m)
			m.Fold()
			if m.folded == 0 {
				t.Fatalf("seed %d, round %d: it is not folded", seed, round)
			}
			m.Fold()
			if got := ownPagesOf(t, m); got != 0 {
				t.Errorf("seed %d, round %d: %d of %d pages are still its own", seed, round, got, before)
			}
			m.Unfold()
			m.Unfold()
			if !bytes.Equal(mem, want) {
				t.Fatalf("seed %d, round %d: it is not what it was", seed, round)
			}
		}
		if err := image.Close(); err != nil {
			t.Fatal(err)
		}
		m.Fold()
		m.Unfold()
		m.Free()
	}
}

// TestNotFolded are memories that stay as they are, and what they are.
func TestNotFolded(t *testing.T) {
	fill := func(pages int) func([]byte) {
		return func(mem []byte) {
			for i := range mem[:pages*pageSize] {
				mem[i] = byte(i) | 1
			}
		}
	}
	for name, test := range map[string]struct {
		size   int
		change func(mem []byte)
	}{
		"unchanged":     {page, func([]byte) {}},
		"one page":      {page, func(mem []byte) { mem[9] = 1 }},
		"nothing won":   {page, fill(8)},
		"many pages":    {8 * page, fill(foldedPages + 1)},
		"a large image": {foldable + page, func(mem []byte) { mem[0], mem[page] = 1, 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := cloneOf(t, make([]byte, test.size), test.size+page)
			mem := m.Reallocate(uint64(test.size))
			test.change(mem)
			want := bytes.Clone(mem)
			for range 2 {
				m.Fold()
				if m.folded > 0 {
					t.Error("it is folded")
				}
			}
			if !bytes.Equal(mem, want) {
				t.Error("it is not what it was")
			}
			if grown := m.Reallocate(uint64(test.size + page)); !bytes.Equal(grown[test.size:], make([]byte, page)) {
				t.Error("what is new is not zero")
			}
		})
	}
}

// TestFoldedRoom: what differs has room, at worst.
func TestFoldedRoom(t *testing.T) {
	for _, step := range []int{1, 2, 3, 5, 512} {
		d := differences{}
		is, was := make([]byte, pageSize), make([]byte, pageSize)
		for at := 0; at < pageSize; at += step * word {
			is[at] = 1
		}
		for i := range foldedPages {
			d.add(i*foldable/foldedPages, is, was)
		}
		if len(d.out) > foldedRoom {
			t.Errorf("every %d words: %d bytes, there is room for %d", step, len(d.out), foldedRoom)
		}
		memory := make([]byte, foldable)
		apply(memory, d.out)
		for i := range foldedPages {
			if at := i * foldable / foldedPages; !bytes.Equal(memory[at:at+pageSize], is) {
				t.Fatalf("every %d words: page %d is wrong", step, i)
			}
		}
	}
}
