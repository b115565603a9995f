package linear

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// ErrMappings says that the process has as many memory mappings as the system allows, but for a reserve. A
// process without any left cannot go on: the Go runtime itself needs mappings, and dies without them.
var ErrMappings = errors.New("too many memory mappings")

// What memories and images take of the mappings of the process. The neighbours in the address space may share
// some, so these are upper bounds.
const (
	mappingsOfImage = 1
	mappingsOfClone = 1 // the image, before what the memory has beyond it
)

// reservedMappings are kept for all else in the process: the Go runtime, machine code, libraries, threads.
const reservedMappings = 4096

// mappings are those that are in use, and those that may be.
var mappings struct {
	used  atomic.Int64
	limit atomic.Int64
}

func init() { mappings.limit.Store(usableMappings(maxMapCount())) }

// usableMappings is how many mappings memories may take; 0 as the limit of the system means that there is none.
func usableMappings(limit int64) int64 {
	if limit == 0 {
		return math.MaxInt64
	}
	return limit - min(reservedMappings, limit/4)
}

// LimitMappings sets how many mappings all memories of the process may take together, for tests. It returns a function
// that restores the limit of before. By default, it is what the system allows the process
// (vm.max_map_count of Linux), but for a reserve of 4,096 or a quarter.
func LimitMappings(limit int) (restore func()) {
	before := mappings.limit.Swap(int64(limit))
	return func() { mappings.limit.Store(before) }
}

// Mappings tells how many mappings all memories of the process take at most, and how many they may take.
func Mappings() (used, limit int64) { return mappings.used.Load(), mappings.limit.Load() }

// takeMappings takes some, or returns an error that says what to do.
func takeMappings(n int64) error {
	limit := mappings.limit.Load()
	if used := mappings.used.Add(n); used > limit {
		mappings.used.Add(-n)
		return fmt.Errorf("%w: instances take %d of the %d that the process may use for them: raise vm.max_map_count (sysctl -w vm.max_map_count=262144), or lower MaxDaemons", ErrMappings, used-n, limit)
	}
	return nil
}

func giveMappings(n int64) { mappings.used.Add(-n) }
