package sharing

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestMarksCount: labels take many times the memory of their texts, and an object can have thousands of them.
func TestMarksCount(t *testing.T) {
	var labels, finalizers []string
	for i := range 5000 {
		labels, finalizers = append(labels, fmt.Sprintf(`"l%d":""`, i)), append(finalizers, fmt.Sprintf(`"a/%d"`, i))
	}
	for name, metadata := range map[string]string{
		"labels": `"labels":{` + strings.Join(labels, ",") + `}`, "finalizers": `"finalizers":[` + strings.Join(finalizers, ",") + `]`,
	} {
		h := &Hub{feeds: map[key]*feed{}}
		f := h.of(key{})
		f.last = "1"
		up := &upstream{over: make(chan struct{}), audience: newAudience()}
		up.audience.add(&cursor{feed: f, up: up})
		before := heaptest.InUse()
		for version := range 20 {
			object := []byte(`{"metadata":{"uid":"u",` + metadata + `}}`)
			if err := f.add(up, watching.Event{Type: "ADDED", Meta: watching.Meta{UID: "u", ResourceVersion: fmt.Sprint(version + 2)}, Object: object}); err != nil {
				t.Fatal(err)
			}
		}
		if took := heaptest.InUse() - before; took > 3*f.bytes/2 || f.bytes > 2*took {
			t.Errorf("%s: %d events take %d bytes, and %d count", name, len(f.log), took, f.bytes)
		}
		h.reap(f)
		if held := h.logs.Load(); held != 0 {
			t.Errorf("%s: %d bytes count afterwards", name, held)
		}
		runtime.KeepAlive(f)
	}
}
