package kopftest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Host is what handlers of a test have around them. Its fields may be set before,
// and read after the handlers are called.
type Host struct {
	// Config is the configuration, for kopf.Config; see Host.Install.
	Config map[string]string
	// Memo and OperatorMemo are the values of the memos, by key.
	Memo, OperatorMemo map[string]any
	// Indices are the pairs of the indices, by their names.
	Indices map[string]kopf.Pairs
	// StopAfter tells daemons to stop after so many waits; 0: never.
	StopAfter int
	// Objects are those of the cluster that requests go to, by their paths, as in
	// "/api/v1/namespaces/default/pods/x".
	Objects map[string]any
	// Answer answers requests instead of that cluster; nil leaves a request to it.
	Answer func(Request) *Answer

	Logs   []Log           // what was logged
	Events []Event         // what was posted
	Waits  []time.Duration // what was waited for

	Requests []Request // what was requested, in order

	tb       testing.TB
	mu       sync.Mutex // guards memos
	versions map[memoKey]int64
	segments map[uint32]map[int][]byte     // of tasks
	executed map[uint32]map[string]Outcome // sub-handlers of tasks
	tasks    uint32

	kubernetes *memory // nil until it is needed
}

// Log is a line of the log. Levels are those of package kopf.
type Log struct {
	Level int
	Text  string
}

// Event is a posted Kubernetes event.
type Event struct {
	Type, Reason, Message string

	Backoffs []time.Duration // nil: those of the settings
}

type memoKey struct {
	scope int
	key   string
}

// New makes a host for a test. What handlers log is also logged by the test.
func New(tb testing.TB) *Host {
	return &Host{
		tb: tb, Memo: map[string]any{}, OperatorMemo: map[string]any{},
		versions: map[memoKey]int64{}, segments: map[uint32]map[int][]byte{}, executed: map[uint32]map[string]Outcome{},
	}
}

// Install makes kopf.Config and kopf.LookupConfig look into Host.Config, until
// the test ends.
func (h *Host) Install() {
	before := guest.Default.Host
	guest.Default.Host = fake{h}
	h.tb.Cleanup(func() { guest.Default.Host = before })
}

// fake answers the questions of the guest.
type fake struct{ *Host }

func (f fake) Log(_ uint32, level int, text string) {
	f.tb.Helper()
	f.tb.Log(text)
	f.Logs = append(f.Logs, Log{level, text})
}

func (f fake) Segment(task uint32, tag int) ([]byte, error) {
	data := f.segments[task][tag]
	if data == nil {
		return nil, guest.Errno(abi.ErrnoAbsent)
	}
	return data, nil
}

func (f fake) Stopped(uint32) int {
	if f.StopAfter > 0 && len(f.Waits) >= f.StopAfter {
		return abi.StopDaemonSignalled
	}
	return 0
}

func (f fake) Config(key string) (string, error) {
	value, ok := f.Host.Config[key]
	if !ok {
		return "", guest.Errno(abi.ErrnoAbsent)
	}
	return value, nil
}

// Random fills the buffer with the same bytes each time: tests are repeatable.
func (f fake) Random(buf []byte) error {
	for i := range buf {
		buf[i] = byte(i)
	}
	return nil
}

func (f fake) Event(_ uint32, text []byte) error {
	v := kopf.JSON(text)
	event := Event{Type: v.Get("type").String(), Reason: v.Get("reason").String(), Message: v.Get("message").String()}
	if own := v.Get("backoffs"); own.Exists() {
		event.Backoffs = []time.Duration{}
		for _, pause := range own.Items() {
			event.Backoffs = append(event.Backoffs, time.Duration(pause.Float()*float64(time.Second)))
		}
	}
	f.Events = append(f.Events, event)
	return nil
}

// memo is the memo of a scope.
func (f fake) memo(scope int) map[string]any {
	if scope == guest.ScopeOperator {
		return f.OperatorMemo
	}
	return f.Memo
}

func (f fake) MemoGet(_ uint32, scope int, key string) (int64, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, ok := f.memo(scope)[key]
	if !ok {
		return 0, nil, guest.Errno(abi.ErrnoAbsent)
	}
	text, err := jsonlite.Encode(value)
	return f.version(scope, key), text, err
}

// version is the version of a present value: those that were there before have 1.
func (f fake) version(scope int, key string) int64 {
	return max(f.versions[memoKey{scope, key}], 1)
}

func (f fake) MemoSet(_ uint32, scope int, key string, value []byte, version int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, exists := f.memo(scope)[key]
	if version == 0 && exists || version > 0 && (!exists || version != f.version(scope, key)) {
		return 0, guest.Errno(abi.ErrnoConflict)
	}
	next := f.versions[memoKey{scope, key}] + 2
	f.versions[memoKey{scope, key}] = next
	if len(value) == 0 {
		delete(f.memo(scope), key)
		return next, nil
	}
	decoded, err := jsonlite.Any(value)
	f.memo(scope)[key] = decoded
	return next, err
}

func (f fake) Index(_ uint32, op int, name string, key []byte) ([]byte, error) {
	var keys, values []any
	for _, pair := range f.Indices[name] {
		text, err := jsonlite.Encode(pair.Key)
		if err != nil {
			return nil, err
		}
		if string(text) == string(key) {
			values = append(values, pair.Value)
		}
		if !slices.ContainsFunc(keys, func(k any) bool { return string(k.(abi.Raw)) == string(text) }) {
			keys = append(keys, abi.Raw(text))
		}
	}
	switch op {
	case guest.IndexGet:
		return jsonlite.Encode(append([]any{}, values...))
	case guest.IndexKeys:
		return jsonlite.Encode(append([]any{}, keys...))
	case guest.IndexLen:
		return jsonlite.Encode(len(keys))
	}
	return jsonlite.Encode(len(values) > 0)
}
