package host

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
)

// provided is how many bytes of a memory the system has provided for it alone.
func provided(t *testing.T, memory []byte) int {
	t.Helper()
	begin := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(memory))))
	total, inside := 0, false
	for _, line := range mappings(t) {
		var from, to uint64
		if n, err := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 && err == nil {
			inside = from < begin+uint64(len(memory)) && to > begin
		} else if rest, ok := strings.CutPrefix(line, "Anonymous:"); ok && inside {
			var kib int
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatal(err)
			}
			total += kib << 10
		}
	}
	return total
}

// mappings are the lines of /proc/self/smaps.
func mappings(t *testing.T) (lines []string) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for all := bufio.NewScanner(file); all.Scan(); {
		lines = append(lines, all.Text())
	}
	return lines
}

// clonesMapped is the number of memories that are copies of images.
func clonesMapped(t *testing.T) (n int) {
	t.Helper()
	for _, line := range mappings(t) {
		if strings.Contains(line, "memfd:kopf") && strings.Contains(line, " rw-p ") { // not the image itself
			n++
		}
	}
	return n
}

// TestFirstTouches: code that only touches memory for the first time waits for the
// system at most for what is provided lazily; the rest is there before.
func TestFirstTouches(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		name  string
		size  int // of an image; 0: none
		sizes []int
		want  int // bytes that are provided, untouched
	}{
		{"small", 0, []int{mib}, 0},
		{"large", 0, []int{16 * mib}, 16*mib - linear.LazyRest},
		{"grown", 0, []int{mib, 2 * mib, 9 * mib}, 9*mib - linear.LazyRest},
		{"small image", 4 * mib, []int{4 * mib}, 0},
		{"image of a script", 20 * mib, []int{20 * mib}, 0},
		{"large image", 32 * mib, []int{32 * mib}, 32*mib - linear.LazyImage},
		{"small image, grown a little", 4 * mib, []int{5 * mib}, 0},
		{"image, grown", 4 * mib, []int{5 * mib, 8 * mib}, 4*mib - linear.LazyRest},
	} {
		t.Run(test.name, func(t *testing.T) {
			memory, err := linear.Reserve(0, 64*mib)
			if test.size > 0 {
				memory, err = imageOf(t, test.size).Clone(64 * mib)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer memory.Free()
			var all []byte
			for _, size := range test.sizes {
				if all = memory.Reallocate(uint64(size)); all == nil {
					t.Fatal("it does not grow")
				}
			}
			if got := provided(t, all); got != test.want {
				t.Errorf("%d KiB are provided, want %d", got>>10, test.want>>10)
			}
		})
	}
}

func imageOf(t *testing.T, size int) *linear.Image {
	t.Helper()
	image, err := linear.NewImage(make([]byte, size))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { image.Close() })
	return image
}

// TestClearingWhatIsZero takes no memory: Go's runtime clears what it never used.
func TestClearingWhatIsZero(t *testing.T) {
	const size = 900 << 10
	clearing := asm.Guest(asm.Cat(asm.I32Const(64<<10), asm.I32Const(0), asm.I32Const(size), asm.MemoryFill))
	filling := asm.Guest(asm.Cat(asm.I32Const(64<<10), asm.I32Const(1), asm.I32Const(size), asm.MemoryFill))
	for name, guest := range map[string]asm.Module{"clearing": clearing, "filling": filling} {
		guest.Memory = []uint32{16}
		m, err := load(t, guest.Encode(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		result(t, m, "", &testEnv{})
		memory := m.pool.idle[0].mod.Memory()
		view, _ := memory.Read(64<<10, size)
		if got := provided(t, view); name == "clearing" && got > 64<<10 || name == "filling" && got < size {
			t.Errorf("%s %d KiB took %d KiB", name, size>>10, got>>10)
		}
	}
}

// TestIdleOperatorHoldsNoInstance: neither after it was loaded, nor some time after
// its last work.
func TestIdleOperatorHoldsNoInstance(t *testing.T) {
	before := clonesMapped(t)
	m := loadGo(t, Options{MaxIdle: 3, IdleTimeout: 30 * time.Millisecond})
	if got := m.Usage(); got.Living != 0 || got.Made != 1 {
		t.Errorf("after loading: %+v", got)
	}
	var tasks []*Task
	for range 3 {
		task, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := task.Resume(t.Context(), abi.Answer{}); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	if got := clonesMapped(t) - before; got < 3 {
		t.Errorf("%d memories for three handlers", got)
	}
	for _, task := range tasks {
		task.Release(t.Context())
	}
	for deadline := time.Now().Add(time.Minute); m.Usage().Living > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := m.Usage(); got.Living != 0 || got.Idle != 0 {
		t.Errorf("after some time without work: %+v", got)
	}
	if got := clonesMapped(t) - before; got != 0 {
		t.Errorf("%d memories are still mapped", got)
	}
	if got := result(t, m, "count", &testEnv{}); got != "1" {
		t.Errorf("count = %s", got)
	}
}
