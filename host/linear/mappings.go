package linear

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// ErrMappings says that the process has reached the system's limit of memory mappings,
// except for a reserve. The reserve is needed because the Go runtime crashes without
// mappings.
var ErrMappings = errors.New("too many memory mappings")

// mappingsOfClone is that of the image, before what the memory has beyond it. Neighbours in the address space may share
// mappings, so all numbers are upper bounds.
const mappingsOfClone = 1

// reservedMappings are reserved for the rest of the process: the Go runtime, machine code,
// libraries, threads.
const reservedMappings = 4096

// mappings counts the mappings in use, and their limit.
var mappings struct {
	used  atomic.Int64
	limit atomic.Int64
}

func init() { mappings.limit.Store(usableMappings(maxMapCount())) }

// usableMappings returns the mappings that memories may take. A system limit of 0 means no
// limit.
func usableMappings(limit int64) int64 {
	if limit == 0 {
		return math.MaxInt64
	}
	return limit - min(reservedMappings, limit/4)
}

// LimitMappings sets the number of mappings that all memories of the process may take
// together, for tests. The returned function restores the previous limit. The default is the
// limit of the system (vm.max_map_count of Linux), without a reserve of 4,096 or a quarter.
func LimitMappings(limit int) (restore func()) {
	before := mappings.limit.Swap(int64(limit))
	return func() { mappings.limit.Store(before) }
}

// Mappings returns the mappings that all memories of the process take at most, and their
// limit.
func Mappings() (used, limit int64) { return mappings.used.Load(), mappings.limit.Load() }

// takeMappings takes mappings, or returns an error with advice.
func takeMappings(n int64) error {
	limit := mappings.limit.Load()
	if used, ok := accounts.AddWithin(limit, &mappings.used, n); !ok {
		return fmt.Errorf("%w: instances take %d of the %d that the process may use for them: raise vm.max_map_count (sysctl -w vm.max_map_count=262144), or lower MaxDaemons", ErrMappings, used, limit)
	}
	return nil
}

func giveMappings(n int64) { mappings.used.Add(-n) }
