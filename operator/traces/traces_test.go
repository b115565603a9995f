package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// collector is a collector of traces.
type collector struct {
	*httptest.Server
	status int
	block  chan struct{} // answers wait until it is closed; nil: they do not

	mu       sync.Mutex // guards the fields below
	header   http.Header
	path     string
	requests []request
}

func newCollector(t *testing.T, status int, block chan struct{}) *collector {
	t.Helper()
	c := &collector{status: status, block: block}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP takes a request.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.block != nil {
		<-c.block
	}
	var in request
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header, c.path, c.requests = r.Header, r.URL.Path, append(c.requests, in)
	w.WriteHeader(c.status)
}

func (c *collector) spans() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []span
	for _, r := range c.requests {
		for _, of := range r.ResourceSpans {
			all = append(all, of.ScopeSpans[0].Spans...)
		}
	}
	return all
}

func target(t *testing.T, url string, env map[string]string) Target {
	t.Helper()
	found, err := TargetOf(url, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return *found
}

// record is a span that has ended.
func record() *tracing.Record {
	return &tracing.Record{
		Trace: [16]byte{15: 1}, ID: [8]byte{7: 2}, Parent: [8]byte{7: 3}, Name: "handler create_fn", Kind: tracing.Internal, Begin: time.Unix(1, 5), End: time.Unix(2, 0),
		Attributes: []tracing.Attribute{{Key: "kopf.handler", Text: "create_fn"}, {Key: "kopf.retry", Number: 0, IsNumber: true}}, Failed: true, Message: "boo",
	}
}

// TestSpansArriveAsOTLP: in its mapping to JSON, with the headers and the name of the environment.
func TestSpansArriveAsOTLP(t *testing.T) {
	c := newCollector(t, http.StatusOK, nil)
	e := New(t.Context(), target(t, c.URL, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, a=b", "OTEL_SERVICE_NAME": "mine"}), "operator", "v1", zerolog.Nop())
	e.Record(record())
	e.Record(&tracing.Record{Trace: [16]byte{1}, ID: [8]byte{1}, Name: "GET", Kind: tracing.Client, Begin: time.Unix(1, 0), End: time.Unix(1, 0)})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.path != "/v1/traces" || c.header.Get("Content-Type") != "application/json" || c.header.Get("Authorization") != "Bearer x" || c.header.Get("a") != "b" {
		t.Errorf("%s with %v", c.path, c.header)
	}
	text, err := json.Marshal(c.requests)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"mine"}}]},"scopeSpans":[{"scope":{"name":"github.com/kopf-wasm/kopf","version":"v1"},"spans":[` +
		`{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","parentSpanId":"0000000000000003","name":"handler create_fn","kind":1,"startTimeUnixNano":"1000000005","endTimeUnixNano":"2000000000",` +
		`"attributes":[{"key":"kopf.handler","value":{"stringValue":"create_fn"}},{"key":"kopf.retry","value":{"intValue":"0"}}],"status":{"code":2,"message":"boo"}},` +
		`{"traceId":"01000000000000000000000000000000","spanId":"0100000000000000","name":"GET","kind":3,"startTimeUnixNano":"1000000000","endTimeUnixNano":"1000000000"}]}]}]}]`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if sent, dropped := e.Counts(); sent != 2 || dropped != 0 {
		t.Errorf("%d are sent, %d dropped", sent, dropped)
	}
}

// transport answers without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestABurstIsOneRequest: one without spans followed each.
func TestABurstIsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(t.Context(), target(t, "http://collector:4318", nil), "operator", "", zerolog.Nop())
		requests := 0
		e.client.Transport = transport(func(*http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		for range 3 {
			e.Record(record())
			synctest.Wait() // the exporter knows of it
		}
		time.Sleep(time.Minute)
		if err := e.Close(t.Context()); err != nil || requests != 1 {
			t.Errorf("%d requests, %v", requests, err)
		}
	})
}

// TestHandlersNeverWaitForACollector: while it does not answer, spans are queued, then dropped.
func TestHandlersNeverWaitForACollector(t *testing.T) {
	block := make(chan struct{})
	c := newCollector(t, http.StatusOK, block)
	e := New(t.Context(), target(t, c.URL, nil), "operator", "", zerolog.Nop())
	const many = 3 * (maxQueue + maxBatch)
	for range many {
		e.Record(record()) // does not block, or the test hangs
	}
	if _, dropped := e.Counts(); dropped == 0 {
		t.Error("nothing is dropped")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(over); !errors.Is(err, context.Canceled) {
		t.Errorf("it is closed: %v", err)
	}
	close(block)
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if sent, dropped := e.Counts(); sent+dropped != many || int(sent) != len(c.spans()) { //nolint:gosec // a count
		t.Errorf("%d are sent, %d dropped, %d arrived", sent, dropped, len(c.spans()))
	}
}

// TestFailuresAreCountedAndLogged: once for many of them, without the secrets of headers.
func TestFailuresAreCountedAndLogged(t *testing.T) {
	refusing := newCollector(t, http.StatusForbidden, nil)
	gone := newCollector(t, http.StatusOK, nil)
	gone.Close()
	for url, says := range map[string]string{refusing.URL: "403", gone.URL: "refused"} {
		var out bytes.Buffer
		e := New(t.Context(), target(t, url, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "token=top-secret"}), "operator", "", zerolog.New(&out))
		for range 2 * maxBatch {
			e.Record(record())
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sent, dropped := e.Counts(); sent != 0 || dropped != 2*maxBatch {
			t.Errorf("%d are sent, %d dropped", sent, dropped)
		}
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, says) || strings.Contains(text, "top-secret") {
			t.Errorf("the log: %s", text)
		}
	}
}

// TestHostileCollectorsGetNothingMore: neither other servers that they name get spans and headers, nor is an answer read that does
// not end.
func TestHostileCollectorsGetNothingMore(t *testing.T) {
	other := newCollector(t, http.StatusOK, nil)
	answers := map[string]http.HandlerFunc{
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"never ends": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			for part := make([]byte, maxBody); r.Context().Err() == nil; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		},
		"waits for years": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1000000000")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"controls the terminal": func(w http.ResponseWriter, _ *http.Request) {
			hijacked, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // it is one
			if err == nil {
				_, err = hijacked.Write([]byte("HTTP/1.1 500 \x1b[2J\r\nConnection: close\r\n\r\n"))
				err = errors.Join(err, hijacked.Close())
			}
			if err != nil {
				t.Error(err)
			}
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			e := New(t.Context(), target(t, server.URL, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "token=top-secret"}), "operator", "", zerolog.Nop())
			e.Record(record())
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if sent, dropped := e.Counts(); sent != 0 || dropped != 1 || len(other.spans()) != 0 {
				t.Errorf("%d are sent, %d dropped, and %d arrived elsewhere", sent, dropped, len(other.spans()))
			}
		})
	}
}

// TestTargets: the flag wins; the variables are those of OpenTelemetry.
func TestTargets(t *testing.T) {
	type env = map[string]string
	tests := []struct {
		name, flag string
		env        env
		url, says  string
	}{
		{"nothing", "", nil, "", ""},
		{"a flag", "http://collector:4318", nil, "http://collector:4318/v1/traces", ""},
		{"a flag with the path", "https://collector/otlp/v1/traces/", nil, "https://collector/otlp/v1/traces/", ""},
		{"a flag with a folder", "https://collector/otlp", nil, "https://collector/otlp/v1/traces", ""},
		{"a flag and a variable", "http://a:1", env{envEndpoint: "http://b:1", envProtocol: "grpc", envDisabled: "true"}, "http://a:1/v1/traces", ""},
		{"a variable", "", env{envEndpoint: "http://b:1/"}, "http://b:1/v1/traces", ""},
		{"a variable for traces", "", env{envEndpoint: "http://b:1", envTracesEndpoint: "http://c:1/x"}, "http://c:1/x", ""},
		{"another form", "", env{envEndpoint: "http://b:1", envProtocol: "http/protobuf"}, "http://b:1/v1/traces", ""},
		{"gRPC", "", env{envEndpoint: "http://b:4317", envProtocol: "grpc"}, "", `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`},
		{"switched off", "", env{envEndpoint: "http://b:1", envDisabled: "TRUE"}, "", ""},
		{"another exporter", "", env{envEndpoint: "http://b:1", envExporter: "none"}, "", ""},
		{"no URL", "collector:4318", nil, "", `invalid URL "collector:4318" in --traces`},
		{"no URL with a password", "me:secret@collector:4318", nil, "", "invalid URL in --traces: must have no credentials"},
		{"no URL in a variable", "", env{envEndpoint: "4318"}, "", `in OTEL_EXPORTER_OTLP_ENDPOINT`},
		{"credentials", "http://me:top-secret@collector", nil, "", "must have no credentials"},
		{"a header without a value", "http://c", env{envHeaders: "top-secret"}, "", "invalid header in OTEL_EXPORTER_OTLP_HEADERS"},
		{"a header that forges others", "http://c", env{envTracesHeaders: "a=top-secret%0d%0ab: c"}, "", "invalid header in OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := TargetOf(tt.flag, func(name string) string { return tt.env[name] })
			switch {
			case tt.says != "":
				if !errors.Is(err, ErrTarget) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "top-secret") {
					t.Errorf("error %v, want %s", err, tt.says)
				}
			case err != nil:
				t.Error(err)
			case tt.url == "" && got != nil, tt.url != "" && (got == nil || got.URL != tt.url):
				t.Errorf("%+v, want %s", got, tt.url)
			}
		})
	}
}
