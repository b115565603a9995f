package sdkgo_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// env is what handlers of the tests have around them.
type env struct {
	logs     []string
	events   []abi.Event
	segments map[uint32]string
	memo     map[string]string
	stopped  int
	conflict int // how often memos are changed by another writer
}

func (e *env) Log(level int, message string) {
	e.logs = append(e.logs, strconv.Itoa(level)+" "+message)
}

func (e *env) Segment(tag uint32) []byte {
	if text, ok := e.segments[tag]; ok {
		return []byte(text)
	}
	return nil
}

func (e *env) Stopped() int { return e.stopped }

func (e *env) Event(event abi.Event) error {
	e.events = append(e.events, event)
	return nil
}

func (e *env) MemoGet(scope int, key string) ([]byte, uint64, bool) {
	value, ok := e.memo[strconv.Itoa(scope)+key]
	return []byte(value), uint64(len(value)), ok
}

func (e *env) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	if e.conflict > 0 {
		e.conflict--
		e.memo[strconv.Itoa(scope)+key] = "41"
		return 0, abi.ErrConflict
	}
	if present, ok := e.memo[strconv.Itoa(scope)+key]; ok && int64(len(present)) != version {
		return 0, abi.ErrConflict
	}
	e.memo[strconv.Itoa(scope)+key] = string(value)
	return uint64(len(value)), nil
}

func (e *env) Index(op int, name string, key []byte) ([]byte, error) {
	if op == 0 && name == "by_name" && string(key) == `{"k":1}` {
		return []byte(`["a", "b"]`), nil
	}
	return nil, abi.ErrAbsent
}

// normal is a value, or a JSON text, as plain maps and lists.
func normal(t *testing.T, value any) (out any) {
	t.Helper()
	text, isText := value.(string)
	if !isText {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}
