package calls

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// caller makes a caller for HTTP servers only.
func caller(t *testing.T, o Options) *Caller {
	t.Helper()
	c := New(o, func() *clients.Client { return nil })
	t.Cleanup(c.Close)
	return c
}

func get(url string) *abi.Call { return &abi.Call{Target: abi.TargetHTTP, Method: "GET", Path: url} }

func codeOf(answer abi.Answer) string {
	if answer.Error == nil {
		return ""
	}
	return answer.Error.Type
}

// TestMalformedCalls checks calls from which no request can be made.
func TestMalformedCalls(t *testing.T) {
	c := caller(t, Options{Grants: grantsOf(t, "*", "*:*:*"), MaxRequest: 10})
	negative := -1.0
	tests := []struct {
		name string
		call abi.Call
		code string
	}{
		{"no target", abi.Call{Method: "GET", Path: "/"}, abi.CallInvalid},
		{"method", abi.Call{Target: "http", Method: "CONNECT", Path: "https://x.test/"}, abi.CallInvalid},
		{"method with a line break", abi.Call{Target: "http", Method: "GET / HTTP/1.1\r\nX: y", Path: "https://x.test/"}, abi.CallInvalid},
		{"URL", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/\x7f"}, abi.CallInvalid},
		{"length", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/" + strings.Repeat("x", 9000)}, abi.CallInvalid},
		{"timeout", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Timeout: &negative}, abi.CallInvalid},
		{"header name", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"A B": {"x"}}}, abi.CallInvalid},
		{"header twice", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"X-A": {"x"}, "x-a": {"y"}}}, abi.CallInvalid},
		{"header value", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"A": {"x\r\nHost: y"}}}, abi.CallInvalid},
		{"proxy", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"proxy-authorization": {"x"}}}, abi.CallInvalid},
		{"length of another", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"content-length": {"7"}}}, abi.CallInvalid},
		{"base64", abi.Call{Target: "http", Method: "POST", Path: "https://x.test/", Body: abi.Raw(`"*"`), Encoding: "base64"}, abi.CallInvalid},
		{"base64 of what", abi.Call{Target: "http", Method: "POST", Path: "https://x.test/", Body: abi.Raw(`{}`), Encoding: "base64"}, abi.CallInvalid},
		{"encoding", abi.Call{Target: "http", Method: "POST", Path: "https://x.test/", Body: abi.Raw(`"x"`), Encoding: "gzip"}, abi.CallInvalid},
		{"a large header", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/", Headers: map[string][]string{"x-a": {strings.Repeat("x", 65_536)}}}, abi.CallTooLarge},
		{"a long URL", abi.Call{Target: "http", Method: "GET", Path: "https://x.test/" + strings.Repeat("x", 65_536)}, abi.CallTooLarge},
		{"large", abi.Call{Target: "http", Method: "POST", Path: "https://x.test/", Body: abi.Raw(`"01234567890"`)}, abi.CallTooLarge},
		{"impersonation", abi.Call{Target: "kubernetes", Method: "GET", Path: "/api/v1/pods", Headers: map[string][]string{"Impersonate-User": {"admin"}}}, abi.CallInvalid},
		{"protobuf", abi.Call{Target: "kubernetes", Method: "GET", Path: "/api/v1/pods", Headers: map[string][]string{"Accept": {"application/vnd.kubernetes.protobuf"}}}, abi.CallInvalid},
		{"no login yet", abi.Call{Target: "kubernetes", Method: "GET", Path: "/api/v1/pods"}, abi.CallNotReady},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := c.Call(t.Context(), &tt.call, "", nil)
			kind := abi.ErrorPermanent
			if tt.code == abi.CallNotGranted { // the next start may have the grant
				kind = abi.ErrorArbitrary
			}
			if codeOf(answer) != tt.code || answer.Error.Kind != kind {
				t.Errorf("got %+v, want %s, %s", answer.Error, tt.code, kind)
			}
		})
	}
}

// TestReadOnly checks that dry runs may read, but not write.
func TestReadOnly(t *testing.T) {
	var arrived atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL, "*:*:*")})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, call := range []*abi.Call{
			{Target: abi.TargetHTTP, Method: method, Path: server.URL},
			{Target: abi.TargetKubernetes, Method: method, Path: "/api/v1/namespaces/x/pods/x"},
		} {
			if answer := c.Call(t.Context(), call, "the review is a dry run", nil); codeOf(answer) != abi.CallReadOnly {
				t.Errorf("%s %s: %+v", method, call.Target, answer)
			}
		}
	}
	if answer := c.Call(t.Context(), get(server.URL), "the review is a dry run", nil); answer.Response == nil || arrived.Load() != 1 {
		t.Errorf("reading: %+v, %d requests", answer, arrived.Load())
	}
}

func TestWithheldRequestsAreNotSent(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = append(sent, r.Method) }))
	defer server.Close()
	var withheld []string
	o := Options{Grants: grantsOf(t, server.URL), Withhold: func(method, url string, body []byte) {
		withheld = append(withheld, fmt.Sprintf("%s %s %s", method, strings.TrimPrefix(url, server.URL), body))
	}}
	c := caller(t, o)
	for method, want := range map[string]string{"GET": "", "POST": abi.CallReadOnly} {
		call := &abi.Call{Target: abi.TargetHTTP, Method: method, Path: server.URL + "/x"}
		if method == "POST" {
			call.Body = abi.Raw(`{}`)
		}
		if answer := c.Call(t.Context(), call, "", nil); codeOf(answer) != want {
			t.Errorf("%s: %+v, want the error %q", method, answer, want)
		}
	}
	if answer := c.Call(t.Context(), &abi.Call{Target: abi.TargetHTTP, Method: "POST", Path: "https://elsewhere.test/"}, "", nil); codeOf(answer) != abi.CallNotGranted {
		t.Errorf("without a grant: %+v", answer)
	}
	if fmt.Sprint(sent, withheld) != "[GET] [POST /x {}]" {
		t.Errorf("sent %v, withheld %v", sent, withheld)
	}
}

// TestNamesThatLeadAstray uses a granted name that resolves to the machine itself.
func TestNamesThatLeadAstray(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") }))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	c := caller(t, Options{Grants: grantsOf(t, "http://*:"+port)})
	for _, url := range []string{"http://localhost:" + port, server.URL} {
		if answer := c.Call(t.Context(), get(url), "", nil); codeOf(answer) != abi.CallNotGranted {
			t.Errorf("%s: %+v", url, answer)
		}
	}
}

// TestEndlessRedirects checks that redirects are limited.
func TestEndlessRedirects(t *testing.T) {
	var arrived atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	defer server.Close()
	answer := caller(t, Options{Grants: grantsOf(t, server.URL)}).Call(t.Context(), get(server.URL), "", nil)
	if codeOf(answer) != abi.CallUnreachable || arrived.Load() != maxRedirects+1 {
		t.Errorf("got %+v after %d requests", answer, arrived.Load())
	}
}

// TestInFlight checks that requests wait for a slot, and stop waiting with their context.
func TestInFlight(t *testing.T) {
	release := make(chan struct{})
	var running, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), running.Add(1)))
		<-release
		running.Add(-1)
	}))
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL), InFlight: 2})
	answers := make(chan abi.Answer)
	for range 5 {
		go func() { answers <- c.Call(context.WithoutCancel(t.Context()), get(server.URL), "", nil) }()
	}
	for running.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if answer := c.Call(ctx, get(server.URL), "", nil); codeOf(answer) != abi.CallCancelled {
		t.Errorf("who gave up waiting got %+v", answer)
	}
	close(release)
	for range 5 {
		if answer := <-answers; answer.Response == nil {
			t.Errorf("got %+v", answer)
		}
	}
	if most.Load() > 2 {
		t.Errorf("%d requests at once", most.Load())
	}
}

// TestBodies checks the form of each kind of body.
func TestBodies(t *testing.T) {
	tests := []struct{ name, contentType, body, want, encoding string }{
		{"JSON", "application/json; charset=utf-8", "\n{\"a\": 1}\n", `{"a": 1}`, ""},
		{"JSON of a problem", "application/problem+json", `[1]`, `[1]`, ""},
		{"a JSON string", "application/json", `"x"`, `"\"x\""`, ""},
		{"not JSON really", "application/json", `{a}`, `"{a}"`, ""},
		{"text", "text/plain", `{"a":1}`, `"{\"a\":1}"`, ""},
		{"no type", "", "x", `"x"`, ""},
		{"binary", "image/png", "\xff\x00", `"/wA="`, "base64"},
		{"broken UTF-8 in JSON", "application/json", "{\"a\":\"\xff\"}", `"eyJhIjoi/yJ9"`, "base64"},
		{"nothing", "application/json", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, encoding, err := encodeBody([]byte(tt.body), tt.contentType)
			if err != nil || string(body) != tt.want || encoding != tt.encoding {
				t.Errorf("got %s %q, %v; want %s %q", body, encoding, err, tt.want, tt.encoding)
			}
		})
	}
}

// TestShortAnswersTakeLittle: what handlers do not fetch yet counts, and the blanks around it do not.
func TestShortAnswersTakeLittle(t *testing.T) {
	for _, blanks := range []int{0, 1 << 20} {
		around := strings.Repeat(" ", blanks)
		body, _, err := encodeBody([]byte(around+`{"a":1}`+around), "application/json")
		if err != nil || string(body) != `{"a":1}` || cap(body) > 64 {
			t.Errorf("%d blanks: %s takes %d bytes; %v", blanks, body, cap(body), err)
		}
	}
}

// TestTextsOfKubernetes checks that a log is a text, wherever it is cut.
func TestTextsOfKubernetes(t *testing.T) {
	rsp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("\xbc one\n"))}
	answer, err := caller(t, Options{}).readResponse(t.Context(), &abi.Call{Target: abi.TargetKubernetes}, rsp, nil)
	if err != nil || string(answer.Body) != "\"\uFFFD one\\n\"" || answer.Encoding != "" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

// TestVerbatimBodies checks that a guest gets the bytes of a server if it asks for them.
func TestVerbatimBodies(t *testing.T) {
	const sent = `{"a" :  "<1>" }`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, sent)
	}))
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL)})
	for _, verbatim := range []bool{false, true} {
		call := get(server.URL)
		call.Verbatim = verbatim
		answer := c.Call(t.Context(), call, "", nil)
		if answer.Response == nil {
			t.Fatalf("got %+v", answer.Error)
		}
		var text string
		err := json.Unmarshal(answer.Response.Body, &text)
		if verbatim && (err != nil || text != sent) || !verbatim && err == nil {
			t.Errorf("verbatim %v: %s, %v", verbatim, answer.Response.Body, err)
		}
	}
}

// TestUntrustedServer checks that certificates are verified.
func TestUntrustedServer(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL), TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	if answer := c.Call(t.Context(), get(server.URL), "", nil); codeOf(answer) != abi.CallUnreachable {
		t.Errorf("got %+v", answer)
	}
}

// Requests of a guest are limited by a burst and a rate.
func TestRequestsOfGuestsHaveARate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	c := caller(t, Options{Grants: grantsOf(t, server.URL), Rate: clients.Rate{PerSecond: 20, Burst: 5}})
	began := time.Now()
	for range 5 + 10 {
		if answer := c.Call(t.Context(), get(server.URL), "", nil); answer.Response == nil {
			t.Fatalf("got %+v", answer)
		}
	}
	if took := time.Since(began); took < 450*time.Millisecond {
		t.Errorf("15 requests took %v, want 5 at once and half a second for the others", took)
	}
}

// The manager that a guest names owns the fields, or else the manager of the operator.
func TestFieldManagersOfGuests(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = strings.Join(r.URL.Query()["fieldManager"], ",")
	}))
	defer server.Close()
	cluster := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options { return clients.Options{} }, func(string) {})
	c := New(Options{Grants: grantsOf(t, "*:*:*"), FieldManager: "kopf-x y"}, func() *clients.Client { return cluster })
	defer c.Close()
	for _, tt := range []struct{ method, path, want, fails string }{
		{"POST", "pods", "kopf-x y", ""},
		{"PUT", "pods/n", "kopf-x y", ""},
		{"PATCH", "pods/n?force=true", "kopf-x y", ""},
		{"PATCH", "pods/n?fieldManager=", "kopf-x y", ""},
		{"PATCH", "pods/n?fieldManager=me%20%26%20you", "me & you", ""},
		{"GET", "pods/n", "", ""},
		{"DELETE", "pods/n", "", ""},
		{"PATCH", "pods/n?fieldManager=a%0Ab", "", "field manager"},
		{"PATCH", "pods/n?fieldManager=a&fieldManager=%00", "", "field manager"},
		{"PATCH", "pods/n?fieldManager=" + strings.Repeat("x", 129), "", "field manager"},
	} {
		got = ""
		answer := c.Call(t.Context(), &abi.Call{Target: abi.TargetKubernetes, Method: tt.method, Path: "/api/v1/namespaces/ns/" + tt.path}, "", nil)
		if tt.fails != "" {
			if codeOf(answer) != abi.CallInvalid || !strings.Contains(answer.Error.Message, tt.fails) {
				t.Errorf("%s %.60s: got %+v", tt.method, tt.path, answer.Error)
			}
		} else if answer.Error != nil || got != tt.want {
			t.Errorf("%s %s: the manager is %q, %+v, want %q", tt.method, tt.path, got, answer.Error, tt.want)
		}
	}
}

// TestRefusalsAreShort: a guest chooses all parts of a call, and gets no megabytes of the host's memory for them.
func TestRefusalsAreShort(t *testing.T) {
	c := New(Options{}, nil)
	long := "a" + strings.Repeat("\u00e9", 1<<20)
	for _, call := range []abi.Call{
		{Target: long}, {Target: abi.TargetHTTP, Method: long}, {Target: abi.TargetKubernetes, Method: long, Path: "/api/v1/pods"}, {Target: abi.TargetHTTP, Path: long},
	} {
		for _, readOnly := range []string{"", "it may not write"} {
			failure := c.Call(t.Context(), &call, readOnly, nil).Error
			if failure == nil || len(failure.Message) > 2000 || !utf8.ValidString(failure.Message) || strings.Contains(failure.Message, `\x`) {
				t.Errorf("%.20q %.20q %t: %.100q", call.Target, call.Method, readOnly != "", failure.Message)
			}
		}
	}
}

// TestHeadersWithoutValuesCount: they are not sent, but the host has them while the request waits for its turn.
func TestHeadersWithoutValuesCount(t *testing.T) {
	host, err := ParseHost("http://localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	call := get("http://localhost:1/")
	call.Headers = map[string][]string{}
	for i := range 100_000 {
		call.Headers[fmt.Sprint("x-", i)] = nil
	}
	if code := codeOf(caller(t, Options{Grants: Grants{Hosts: []Host{host}}}).Call(t.Context(), call, "", nil)); code != abi.CallTooLarge {
		t.Errorf("the code is %q, want %s", code, abi.CallTooLarge)
	}
}
