package watching

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// Both kinds of sets have equal contents after equal calls.
func TestKnownObjects(t *testing.T) {
	for name, keeping := range map[string]Keeping{"own": Identities, "common": CommonIdentities} {
		t.Run(name, func(t *testing.T) {
			k := newKnown(keeping)
			if k.isNil() || !(known{}).isNil() {
				t.Error("only the zero value is nil")
			}
			first, second := Meta{UID: "1", Name: "a", ResourceVersion: "1"}, Meta{Name: "without a uid", CreationTimestamp: "now"}
			k.put(first, false)
			k.put(second, true)
			if !k.has(first) || !k.has(second) {
				t.Error("an object is unknown")
			}
			newer := first
			newer.ResourceVersion = "2"
			if k.has(newer) {
				t.Error("another version is known")
			}
			k.put(newer, false)
			if !k.has(newer) || k.has(first) {
				t.Error("the newer version does not replace the older one")
			}
			if missing := k.without(map[string]struct{}{second.Key(): {}}); !slices.Equal(missing, []Meta{newer}) {
				t.Errorf("without the second: %v", missing)
			}
			k.remove(newer.Key())
			if missing := k.without(nil); !slices.Equal(missing, []Meta{second}) {
				t.Errorf("after the removal: %v", missing)
			}
		})
	}
}

// BenchmarkKnownObject measures what a stream keeps of each object that was listed.
func BenchmarkKnownObject(b *testing.B) {
	const objects = 20_000
	k := newKnown(Identities)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range objects {
		line := fmt.Sprintf(`{"metadata":{"uid":"11111111-2222-3333-4444-%012d","name":"obj-%05d","namespace":"default","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z"}}`, n, n, n)
		meta, err := MetaOf([]byte(line))
		if err != nil {
			b.Fatal(err)
		}
		k.put(meta, false)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/objects, "B/object")
	runtime.KeepAlive(k)
}
