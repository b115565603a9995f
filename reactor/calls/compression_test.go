package calls

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// gzipServer answers with a text in gzip, if it is asked to, and redirects /from.
func gzipServer(t *testing.T, text string) *httptest.Server {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := io.WriteString(zip, text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		if r.Method != http.MethodHead && r.URL.Path != "/empty" {
			_, _ = w.Write(packed.Bytes())
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestBodiesCountAsComputing: a server can send little that becomes much. What is decompressed, decoded and encoded takes time of the
// host, which the guest does not notice.
func TestBodiesCountAsComputing(t *testing.T) {
	const limit = 100_000
	text := strings.Repeat("x", limit)
	server, large := gzipServer(t, text), gzipServer(t, text+"x")
	var counted atomic.Int32
	c := caller(t, Options{Grants: grantsOf(t, server.URL, large.URL), MaxResponse: limit, Compute: func(_ context.Context, do func()) {
		counted.Add(1)
		do()
	}})
	for _, tt := range []struct {
		name    string
		call    abi.Call
		code    string
		body    int // bytes
		counted int32
	}{
		{"in gzip", abi.Call{Path: server.URL}, "", limit + 2, 2},
		{"redirected", abi.Call{Path: server.URL + "/from"}, "", limit + 2, 2},
		{"nothing in gzip", abi.Call{Path: server.URL + "/empty"}, "", 0, 1},
		{"a part", abi.Call{Path: server.URL, Headers: map[string][]string{"Range": {"bytes=0-"}}}, "", limit + 2, 1},
		{"too large", abi.Call{Path: large.URL}, abi.CallTooLarge, 0, 1},
		{"a large request", abi.Call{Path: server.URL + "/empty", Body: abi.Raw(`"` + text + `"`)}, "", 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counted.Store(0)
			tt.call.Target, tt.call.Method = abi.TargetHTTP, http.MethodGet
			answer := c.Call(t.Context(), &tt.call, "", nil)
			if codeOf(answer) != tt.code || counted.Load() != tt.counted {
				t.Fatalf("got %+v, computed %d times, want %d", answer.Error, counted.Load(), tt.counted)
			}
			if tt.code != "" {
				return
			}
			if n := len(answer.Response.Body); n != tt.body || answer.Response.Headers["Content-Encoding"] != nil {
				t.Errorf("got %d bytes and %v, want %d", n, answer.Response.Headers, tt.body)
			}
		})
	}
	own := get(server.URL)
	own.Headers = map[string][]string{"Accept-Encoding": {"gzip"}}
	if answer := c.Call(t.Context(), own, "", nil); answer.Response == nil || answer.Response.Encoding != abi.EncodingBase64 || answer.Response.Headers["Content-Encoding"] == nil {
		t.Errorf("a guest that decompresses got %+v", answer.Error)
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "no gzip")
	}))
	defer broken.Close()
	if answer := caller(t, Options{Grants: grantsOf(t, broken.URL)}).Call(t.Context(), get(broken.URL), "", nil); codeOf(answer) != abi.CallUnreachable || !strings.Contains(answer.Error.Message, "the answer is broken") {
		t.Errorf("a broken body: %+v", answer)
	}
}
