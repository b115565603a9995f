// Package traces sends the spans of an operator to a collector of OpenTelemetry, by OTLP over HTTP
// in JSON.
//
// A slow collector, or one that does not answer, never slows down the operator: spans wait in a
// queue of bounded length, and are dropped if it is full.
//
// See https://opentelemetry.io/docs/specs/otlp/#otlphttp
package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Bounds of an Exporter.
const (
	maxQueue = 2048 // spans that wait
	maxBatch = 512  // spans of one request
	maxWait  = 2 * time.Second
	timeout  = 10 * time.Second // of a request
	maxBody  = 1 << 16          // bytes of a response that are read
	between  = time.Minute      // between two messages about failures
)

// Exporter sends spans. It is safe for concurrent use.
type Exporter struct {
	target  Target
	service string
	version string
	client  *http.Client
	log     zerolog.Logger

	queue         chan *tracing.Record
	ending        chan struct{} // closed when the queue must be sent at once
	ended         chan struct{} // closed when nothing is sent any more
	end           func()
	sent, dropped atomic.Uint64
	complained    time.Time // only the goroutine of the exporter uses it
}

var _ tracing.Tracer = (*Exporter)(nil)

// New makes an exporter, and starts its goroutine, which Close ends, whether the context ends or not. The service is the name of
// the operator, unless the target has one.
func New(ctx context.Context, target Target, service, version string, log zerolog.Logger) *Exporter {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	if target.Service != "" {
		service = target.Service
	}
	e := &Exporter{
		target: target, service: service, version: version, log: log.With().Str(loggers.Field, "kopf.traces").Logger(),
		client: &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		queue:  make(chan *tracing.Record, maxQueue), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	e.end = sync.OnceFunc(func() { close(e.ending) })
	go e.run(context.WithoutCancel(ctx)) // Close waits for it.
	return e
}

// Record queues a span, or drops it if the queue is full.
func (e *Exporter) Record(s *tracing.Record) {
	select {
	case e.queue <- s:
	default:
		e.dropped.Add(1)
	}
}

// Counts returns how many spans a collector has accepted, and how many were dropped, because too
// many waited or no collector has accepted them.
func (e *Exporter) Counts() (sent, dropped uint64) { return e.sent.Load(), e.dropped.Load() }

// Close sends what waits, until the context ends. Spans that are recorded later are lost.
func (e *Exporter) Close(ctx context.Context) error {
	e.end()
	defer e.client.CloseIdleConnections()
	select {
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some spans were not sent: %w", ctx.Err())
	}
}

// run sends batches until the end.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.ended)
	for {
		batch, more := e.collect()
		if len(batch) > 0 {
			e.deliver(ctx, batch)
		}
		if !more {
			return
		}
	}
}

// collect waits for a batch. More is false if no other one follows.
func (e *Exporter) collect() (batch []*tracing.Record, more bool) {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for len(batch) < maxBatch {
		select {
		case s := <-e.queue:
			batch = append(batch, s)
		case <-timer.C:
			return batch, true
		case <-e.ending:
			for len(batch) < maxBatch {
				select {
				case s := <-e.queue:
					batch = append(batch, s)
				default:
					return batch, false
				}
			}
			return batch, true
		}
	}
	return batch, true
}

// deliver sends a batch once. If that fails, the batch is dropped.
func (e *Exporter) deliver(ctx context.Context, batch []*tracing.Record) {
	err := e.send(ctx, encode(e.service, e.version, batch))
	if err == nil {
		e.sent.Add(uint64(len(batch)))
		return
	}
	e.dropped.Add(uint64(len(batch)))
	if now := time.Now(); now.Sub(e.complained) >= between {
		e.complained = now
		e.log.Warn().Err(err).Uint64("dropped", e.dropped.Load()).Msg("Traces cannot be sent.")
	}
}

// errRefused means that a collector has not accepted spans.
var errRefused = errors.New("the collector of traces refuses them")

func (e *Exporter) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if e.target.Header != nil {
		req.Header = e.target.Header.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	rsp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(rsp.Body, maxBody)) // so that the connection can be used again
	if rsp.StatusCode < 200 || rsp.StatusCode > 299 {
		return fmt.Errorf("%w: %s", errRefused, rsp.Status)
	}
	return nil
}
