package extism

import (
	"math/rand"
	"testing"
)

// TestKernelMemory: blocks that are in use never overlap, are zero at first, and keep what is in them; what is freed
// is used again.
func TestKernelMemory(t *testing.T) {
	for seed := range int64(20) {
		rnd := rand.New(rand.NewSource(seed))
		k := &kernel{limit: 1 << 16}
		k.reset([]byte("the input"))
		used := map[uint64]byte{}
		for range 5000 {
			if len(used) == 0 || rnd.Intn(2) == 0 && len(used) < 20 {
				offset := k.alloc(uint64(rnd.Intn(1000) + 1))
				mark := byte(rnd.Intn(255) + 1)
				for _, b := range k.at(offset) {
					if b != 0 {
						t.Fatalf("seed %d: a new block is not zero", seed)
					}
				}
				for i := range k.at(offset) {
					k.at(offset)[i] = mark
				}
				used[offset] = mark
				continue
			}
			for offset, mark := range used {
				for _, b := range k.at(offset) {
					if b != mark {
						t.Fatalf("seed %d: a block was changed", seed)
					}
				}
				k.free(offset)
				k.free(offset + 1) // no block
				delete(used, offset)
				break
			}
		}
		if string(k.at(kernelStart)) != "the input" {
			t.Errorf("seed %d: the input is %q", seed, k.at(kernelStart))
		}
		for offset := range used {
			k.free(offset)
		}
		if len(k.freed.free) != 0 || len(k.arena) != kernelStart+16 {
			t.Errorf("seed %d: %d bytes and %d spans are left", seed, len(k.arena), len(k.freed.free))
		}
		k.free(kernelStart)
		if k.input.size != 0 || len(k.arena) != kernelStart {
			t.Errorf("seed %d: the input is not freed", seed)
		}
	}
}

// TestVariables: a plugin keeps some, but not everything.
func TestVariables(t *testing.T) {
	const limit = 1 << 20
	v := &variables{limit: limit}
	half := make([]byte, limit/2)
	steps := []struct {
		name   string
		value  []byte
		exists bool
		fits   bool
	}{
		{"a", half, true, true},
		{"b", half, true, false},
		{"a", half, true, true},
		{"a", nil, false, true},
		{"b", half, true, true},
		{"c", nil, false, true},
		{"d", half, true, false},
		{"b", []byte("x"), true, true},
		{"d", half, true, true},
	}
	for i, s := range steps {
		if got := v.set(s.name, s.value, s.exists); got != s.fits {
			t.Errorf("step %d: %v", i, got)
		}
	}
	if v.stored != len("b")+len("x")+len("d")+len(half) || len(v.values) != 2 {
		t.Errorf("%d bytes in %d variables", v.stored, len(v.values))
	}
}
