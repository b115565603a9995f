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

// TestRecordsOfAnOperatorAreBounded: the host writes a line about each call, which LogLimit does not count. Those of others are not
// dropped.
func TestRecordsOfAnOperatorAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, w := hosted(t, operator.Options{}), &written{}
		x.options.Output = zerolog.LevelWriterAdapter{Writer: w}
		x.declared("a", 1, func(s *api.Spec) { s.Limits = map[string]string{"LogLimit": "512Ki"} })
		x.declared("b", 1, nil)
		time.Sleep(time.Minute)
		greedy, other, before := x.all()[0].options.Log, x.all()[1].options.Log, w.bytes
		const limit = recordsPerOutput * 512 << 10
		for range 2 * limit >> 10 {
			greedy.Info().Msg(strings.Repeat("x", 1<<10))
		}
		if got := w.bytes - before; got > limit || got < limit-2<<10 {
			t.Errorf("%d bytes were written, and %d may be", got, limit)
		}
		if other.Info().Msg("of another"); !strings.Contains(w.last, "of another") {
			t.Errorf("the last record is %.200s", w.last)
		}
		time.Sleep(reportRecords)
		synctest.Wait()
		if !strings.Contains(w.last, "records of the operator were dropped: they are more than 2097152 bytes a second.") || !strings.Contains(w.last, "ns/a") {
			t.Errorf("the last record is %.200s", w.last)
		}
		if greedy.Info().Msg("later"); !strings.Contains(w.last, "later") {
			t.Errorf("the last record is %.200s", w.last)
		}
	})
}
