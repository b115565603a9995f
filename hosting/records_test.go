package hosting

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// written are the records of a test.
type written struct {
	mu    sync.Mutex // guards all below
	bytes int
	last  string
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes, w.last = w.bytes+len(line), string(line)
	return len(line), nil
}

func (w *written) seen() (bytes int, last string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes, w.last
}

// lastHas fails unless the last record has all the texts.
func (w *written) lastHas(t *testing.T, texts ...string) {
	t.Helper()
	_, last := w.seen()
	for _, text := range texts {
		if !strings.Contains(last, text) {
			t.Errorf("the last record is %.200s, without %q", last, text)
		}
	}
}

// TestRecordsOfAnOperatorAreBounded: the host writes a line about each call, which LogLimit does not count. Those of others are not
// dropped.
func TestRecordsOfAnOperatorAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, w := hosted(t, operator.Options{}), &written{}
		x.options.Output = zerolog.LevelWriterAdapter{Writer: w}
		x.declared("a", 1, func(s *api.Spec) { s.Limits = map[string]string{"LogLimit": "512Ki"} })
		x.declared("b", 1, nil)
		time.Sleep(time.Minute)
		greedy, other := x.all()[0].options.Log, x.all()[1].options.Log
		before, _ := w.seen()
		const limit = recordsPerOutput * 512 << 10
		for range 2 * limit >> 10 {
			greedy.Info().Msg(strings.Repeat("x", 1<<10))
		}
		if after, _ := w.seen(); after-before > limit || after-before < limit-2<<10 {
			t.Errorf("%d bytes were written, and %d may be", after-before, limit)
		}
		other.Info().Msg("of another")
		w.lastHas(t, "of another")
		time.Sleep(reportRecords)
		synctest.Wait()
		w.lastHas(t, "records of the operator were dropped: they are more than 2097152 bytes a second.", "ns/a")
		greedy.Info().Msg("later")
		w.lastHas(t, "later")
	})
}
