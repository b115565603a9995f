// Package traces sends the spans of operators to a collector of OpenTelemetry, by OTLP over HTTP
// in JSON.
//
// A slow collector, or one that does not answer, never slows down an operator: spans wait in
// queues of bounded length, and are dropped if these are full. Each operator of a host has a queue
// and a turn of its own, so that one operator cannot make the spans of others lost.
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
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Bounds of an Exporter.
const (
	maxBatch = 512 // spans of one request
	maxWait  = 2 * time.Second
	timeout  = 10 * time.Second // of a request
	maxBody  = 1 << 16          // bytes of a response that are read
	between  = time.Minute      // between two messages about failures
)

// Exporter sends spans: its own, as the tracer of one operator, or those of many operators, each
// with its Source. It is safe for concurrent use.
type Exporter struct {
	*Source // of one operator
	target  Target
	version string
	client  *http.Client
	log     zerolog.Logger

	queues     *queues
	ending     chan struct{} // closed when the queues must be sent at once
	ended      chan struct{} // closed when nothing is sent any more
	end        func()
	complained time.Time // only the goroutine of the exporter uses it
}

var _ tracing.Tracer = (*Exporter)(nil)

// New makes an exporter, and starts its goroutine, which Close ends, whether the context ends or not. The service is the name of
// the operator, unless the target has one.
func New(ctx context.Context, target Target, service, version string, log zerolog.Logger) *Exporter {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	e := &Exporter{
		target: target, version: version, log: log.With().Str(loggers.Field, "kopf.traces").Logger(),
		client: &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		queues: newQueues(), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	e.Source = newSource(e.queues, maxQueue, maxQueueBytes, target.named(service))
	e.end = sync.OnceFunc(func() { close(e.ending) })
	go e.run(context.WithoutCancel(ctx)) // Close waits for it.
	return e
}

// Operator returns the tracer of one of many operators, whose namespace is empty if the whole cluster
// has it. The names are attributes of the resource of its spans, which nothing in a span changes.
// An operator that does not send spans any more costs nothing. The tracer is a Source.
func (e *Exporter) Operator(namespace, name string) tracing.Tracer {
	full := name
	if namespace != "" {
		full = namespace + "/" + name // a name has no slash: no operator has the full name of another one
	}
	about := append(e.target.named(full), textual("kopf.operator.name", name))
	if namespace != "" {
		about = append(about, textual("kopf.operator.namespace", namespace))
	}
	return newSource(e.queues, maxShare, maxShareBytes, about)
}

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
	for e.await() {
		e.deliver(ctx, e.queues.take(maxBatch))
	}
	for {
		batch := e.queues.take(maxBatch)
		if len(batch) == 0 {
			return
		}
		e.deliver(ctx, batch)
	}
}

// await waits until there are enough spans for a batch, or some have waited long enough. It returns
// false at the end.
func (e *Exporter) await() bool {
	select {
	case <-e.queues.some:
	case <-e.ending:
		return false
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-e.queues.full:
	case <-timer.C:
	case <-e.ending:
		return false
	}
	return true
}

// deliver sends a batch once. What fails is dropped.
func (e *Exporter) deliver(ctx context.Context, batch []part) {
	err := e.send(ctx, encode(e.version, batch))
	if errors.Is(err, errContent) && len(batch) > 1 {
		e.separate(ctx, batch)
		return
	}
	e.settle(batch, err)
}

// separate sends the part of each operator alone, because a collector refuses the content of all
// together: the part of one operator does not make the others lost. It ends when the collector fails.
func (e *Exporter) separate(ctx context.Context, batch []part) {
	for i := range batch {
		err := e.send(ctx, encode(e.version, batch[i:i+1]))
		if err != nil && !errors.Is(err, errContent) {
			e.settle(batch[i:], err)
			return
		}
		e.settle(batch[i:i+1], err)
	}
}

// settle counts the spans of a batch, and logs an error.
func (e *Exporter) settle(batch []part, err error) {
	for i := range batch {
		batch[i].count(err == nil)
	}
	if now := time.Now(); err != nil && now.Sub(e.complained) >= between {
		e.complained = now
		e.log.Warn().Err(err).Uint64("dropped", e.queues.dropped.Load()).Msg("Traces cannot be sent.")
	}
}

// errRefused means that a collector has not accepted spans. An errContent is one because of what
// they contain.
var (
	errRefused = errors.New("the collector of traces refuses them")
	errContent = fmt.Errorf("%w", errRefused)
)

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
	switch rsp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s", errContent, rsp.Status)
	}
	if rsp.StatusCode < 200 || rsp.StatusCode > 299 {
		return fmt.Errorf("%w: %s", errRefused, rsp.Status)
	}
	return nil
}
