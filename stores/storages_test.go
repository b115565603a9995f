package stores_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/stores"
	"github.com/kopf-wasm/kopf/stores/storetest"
)

func TestProgressStorages(t *testing.T) {
	configs := []string{
		`{"type": "smart"}`,
		`{"type": "annotations"}`,
		`{"type": "annotations", "verbose": true, "v1": false}`,
		`{"type": "annotations", "prefix": "my.example.com", "touch_key": "poke"}`,
		`{"type": "status"}`,
		`{"type": "status", "field": ["status", "a.b"], "touch_field": "status.touched"}`,
		`[{"type": "status", "name": "op"}, {"type": "annotations", "prefix": "my.example.com"}]`,
	}
	for _, config := range configs {
		t.Run(config, func(t *testing.T) {
			storetest.RunProgress(t, func() stores.ProgressStorage {
				storage, err := stores.NewProgress(json.RawMessage(config))
				must(t, err)
				return storage
			})
		})
	}
	t.Run("of an embedder", func(t *testing.T) {
		storetest.RunProgress(t, func() stores.ProgressStorage {
			return &memoryProgress{
				ProgressStorage: stores.NewAnnotationsProgress(stores.AnnotationsProgressOptions{}),
				written:         map[string]stores.Record{},
			}
		})
	})
}

func TestDiffBaseStorages(t *testing.T) {
	configs := []string{
		`{"type": "annotations"}`,
		`{"type": "annotations", "prefix": "my.example.com", "key": "state", "v1": false}`,
		`{"type": "status"}`,
		`{"type": "status", "field": "status.diffbase"}`,
		`[{"type": "status"}, {"type": "annotations"}]`,
	}
	for _, config := range configs {
		t.Run(config, func(t *testing.T) {
			storetest.RunDiffBase(t, func() stores.DiffBaseStorage {
				storage, err := stores.NewDiffBase(json.RawMessage(config))
				must(t, err)
				return storage
			})
		})
	}
}

// memoryProgress is a storage such as embedders write: it keeps the records in
// a place of its own, and only touches the object.
type memoryProgress struct {
	stores.ProgressStorage

	mu      sync.Mutex // guards both
	pending []func()
	written map[string]stores.Record
}

func key(body stores.Object, id string) string {
	return body["metadata"].(stores.Object)["uid"].(string) + "/" + id
}

func (m *memoryProgress) Fetch(body stores.Object, id string) (*stores.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record, ok := m.written[key(body, id)]
	if !ok {
		return nil, nil
	}
	return &record, nil
}

func (m *memoryProgress) Store(id string, record stores.Record, body stores.Object, _ *stores.Patch) error {
	m.later(func() { m.written[key(body, id)] = record })
	return nil
}

func (m *memoryProgress) Purge(id string, body stores.Object, _ *stores.Patch) error {
	m.later(func() { delete(m.written, key(body, id)) })
	return nil
}

func (m *memoryProgress) later(write func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, write)
}

func (m *memoryProgress) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, write := range m.pending {
		write()
	}
	m.pending = nil
	return nil
}
