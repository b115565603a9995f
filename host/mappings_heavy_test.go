//go:build figures && linux

package host

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
)

// TestThirtyThousandDaemons: three operators with as many daemons as they may have by default, each with an instance for
// itself, stay below the system's usual limit of mappings. It takes a
// minute and some gigabytes, so it is run by hand: go test ./host -tags figures -run ThirtyThousand.
func TestThirtyThousandDaemons(t *testing.T) {
	var tasks []*Task
	for operator := range 3 {
		guest := scatterer()
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
