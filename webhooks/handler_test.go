package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks"
)

// fakeOperator decides by a function.
type fakeOperator struct {
	webhooks.Operator
	decide func(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error)

	mu   sync.Mutex
	seen []*reviews.Incoming
}

func (o *fakeOperator) Review(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
	o.mu.Lock()
	o.seen = append(o.seen, in)
	o.mu.Unlock()
	if o.decide == nil {
		return &reviews.Verdict{}, nil
	}
	return o.decide(ctx, in)
}

const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",
	"resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},"operation":"CREATE","userInfo":{"username":"u"},"object":{"metadata":{"name":"x"}}}}`

func post(path, body string) *http.Request {
	return httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
}

// ask answers one request.
func ask(o *fakeOperator, limits webhooks.Limits, r *http.Request) *httptest.ResponseRecorder {
	h := webhooks.NewHandler(o, limits, zerolog.Nop())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBadRequests(t *testing.T) {
	with := func(old, text string) string { return strings.Replace(review, old, text, 1) }
	for _, tt := range []struct {
		name   string
		change func(r *http.Request)
		body   string
		code   int
		text   string
	}{
		{"empty", nil, "", 400, "400: The review cannot be read: unexpected end of JSON input"},
		{"malformed", nil, review[:50], 400, "400: The review cannot be read: "},
		{"text after it", nil, review + "{}", 400, "400: The review cannot be read: "},
		{"not an object", nil, `"text"`, 500, "500 Internal Server Error\n\nServer got itself in trouble"},
		{"another kind", nil, with("AdmissionReview", "ConversionReview"), 400, `400: The kind of the review is "ConversionReview", not AdmissionReview.`},
		{"an unknown version", nil, with("k8s.io/v1", "k8s.io/v2"), 400, `400: The version of the review is "admission.k8s.io/v2", neither`},
		{"another group", nil, with("admission.k8s.io", "x.k8s.io"), 400, `400: The version of the review is "x.k8s.io/v1"`},
		{"without a request", nil, `{"apiVersion":"admission.k8s.io/v1"}`, 400, "400: The request is missing from the review."},
		{"without a resource", nil, `{"request":{}}`, 400, "400: The resource is missing"},
		{"mistyped", nil, with(`"CREATE"`, `5`), 400, "400: The review cannot be read: json: cannot unmarshal number"},
		{"too large", nil, with(`"name":"x"`, `"name":"`+strings.Repeat("x", 2000)+`"`), 413, "413: The review is larger than 1000 bytes."},
		{"too large, of unknown length", func(r *http.Request) { r.ContentLength = -1 }, with(`"name":"x"`, `"name":"`+strings.Repeat("x", 2000)+`"`), 413, "413: The review is larger than 1000 bytes."},
		{"another method", func(r *http.Request) { r.Method = http.MethodGet }, review, 405, "405: Method Not Allowed"},
		{"a wrong content type", func(r *http.Request) { r.Header.Set("Content-Type", "text/yaml") }, review, 415, `415: The content type is "text/yaml", not application/json.`},
		{"no content type at all", func(r *http.Request) { r.Header.Set("Content-Type", ";") }, review, 415, "415: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := post("/check", tt.body)
			if tt.change != nil {
				tt.change(r)
			}
			o := &fakeOperator{}
			w := ask(o, webhooks.Limits{Body: 1000}, r)
			if w.Code != tt.code || !strings.HasPrefix(w.Body.String(), tt.text) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.code, tt.text)
			}
			if len(o.seen) > 0 {
				t.Error("the operator was asked")
			}
		})
	}
}

// TestPanicsConcernOneReview: a defect of the host fails one review, and its slot is free afterwards.
func TestPanicsConcernOneReview(t *testing.T) {
	o := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) { panic("broken") }}
	var log strings.Builder
	h := webhooks.NewHandler(o, webhooks.Limits{Concurrent: 1}, zerolog.New(&log))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post("/check", review))
		if want := "500: a defect of the host: broken"; w.Code != 500 || w.Body.String() != want {
			t.Errorf("%d %q, want %q", w.Code, w.Body, want)
		}
	}
	h.Wait()
	if !strings.Contains(log.String(), "webhooks_test.TestPanicsConcernOneReview") {
		t.Errorf("the log has no stack: %s", &log)
	}
}

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

func (u unreadable) Close() error { return nil }

// TestBodiesThatAreAnnouncedAsTooLarge are refused before their first byte is read.
func TestBodiesThatAreAnnouncedAsTooLarge(t *testing.T) {
	r := post("/check", "")
	r.Body, r.ContentLength = unreadable{t}, 1001
	w := ask(&fakeOperator{}, webhooks.Limits{Body: 1000}, r)
	if w.Code != http.StatusRequestEntityTooLarge || w.Header().Get("Connection") != "close" {
		t.Errorf("%d, connection: %s", w.Code, w.Header().Get("Connection"))
	}
}

func TestBadRequestsOfTheOperator(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		text string
	}{
		{
			"unknown resource", reviews.UnknownResource(reviews.Resource{Group: "g", Version: "v1", Resource: "r"}), 404,
			"404: The specified resource has no handlers: {'group': 'g', 'version': 'v1', 'resource': 'r'}",
		},
		{"a failed filter", errors.New("a filter has failed"), 500, "500: a filter has failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) { return nil, tt.err }}
			if w := ask(o, webhooks.Limits{}, post("/check", review)); w.Code != tt.code || w.Body.String() != tt.text {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.code, tt.text)
			}
		})
	}
}

// TestChecks: the required parts of a request, whatever the API server sends.
func TestChecks(t *testing.T) {
	for _, tt := range []struct{ name, request, want string }{
		{"good", `"userInfo":{},"object":{}`, ""},
		{"the old object will do", `"userInfo":{},"oldObject":{},"object":null`, ""},
		{"no user", `"object":{}`, "User info is missing from the admission request."},
		{"no objects", `"userInfo":{},"object":null`, "Either old or new object is missing from the admission request."},
		{"an object of another type", `"userInfo":{},"object":[]`, "The field object of the admission request is not an object."},
		{"a user of another type", `"userInfo":1,"object":{}`, "The field userInfo of the admission request is not an object."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := reviews.Decode([]byte(`{"request":{"resource":{},` + tt.request + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestAnswers: versions and uids come back as they were sent, as often as they are.
func TestAnswers(t *testing.T) {
	o := &fakeOperator{decide: func(_ context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
		return &reviews.Verdict{Failures: []*abi.Error{{Kind: abi.ErrorAdmission, Message: in.Webhook, Code: 418}}, Warnings: []string{"w"}}, nil
	}}
	for _, version := range []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1", "admission.k8s.io/v1beta1"} {
		body := strings.Replace(review, "admission.k8s.io/v1", version, 1)
		w := ask(o, webhooks.Limits{}, post("/parent/child%20%2F?timeout=5s", body))
		var got any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		want := map[string]any{"apiVersion": version, "kind": "AdmissionReview", "response": map[string]any{
			"uid": "u1", "allowed": false, "warnings": []any{"w"}, "status": map[string]any{"message": "parent/child /", "code": 418.0},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
	if len(o.seen) != 3 {
		t.Errorf("%d reviews, want 3: a replayed one is a review", len(o.seen))
	}
	if got := o.seen[0]; string(got.SSLPeer) != "{}" || got.Headers["Host"][0] != "example.com" {
		t.Errorf("%s, %v", got.SSLPeer, got.Headers)
	}
}

// TestSlowHandlers: the answer comes before the sender gives up, and says why.
func TestSlowHandlers(t *testing.T) {
	for _, tt := range []struct {
		query, text string
		answered    time.Duration
	}{
		{"?timeout=10s", "500: the handlers took longer than 9s, and the API server waits for 10s", 9 * time.Second},
		{"?timeout=1s", "500: the handlers took longer than 900ms, and the API server waits for 1s", 900 * time.Millisecond},
		{"?timeout=1h", "500: the handlers took longer than 29s, and the API server waits for 30s", 29 * time.Second},
		{"?timeout=-1s", "500: the handlers took longer than 29s", 29 * time.Second},
		{"", "500: the handlers took longer than 29s", 29 * time.Second},
	} {
		t.Run(tt.query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ignorant := make(chan struct{})
				o := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
					<-ignorant
					return &reviews.Verdict{}, nil
				}}
				h := webhooks.NewHandler(o, webhooks.Limits{}, zerolog.Nop())
				w, began := httptest.NewRecorder(), time.Now()
				h.ServeHTTP(w, post("/check"+tt.query, review))
				if took := time.Since(began); took != tt.answered || w.Code != 500 || !strings.HasPrefix(w.Body.String(), tt.text) {
					t.Errorf("%d %q after %v, want %q after %v", w.Code, w.Body, took, tt.text, tt.answered)
				}
				close(ignorant)
				h.Wait()
			})
		})
	}
}

// TestConcurrentReviews: 200 reviews with a slow handler are answered, a limited number at
// a time; reviews whose time ends before they get a slot are refused with the reason.
func TestConcurrentReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		var mu sync.Mutex
		o := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return &reviews.Verdict{}, nil
		}}
		h := webhooks.NewHandler(o, webhooks.Limits{Concurrent: 20}, zerolog.Nop())
		codes := make(chan string, 200)
		for range 200 {
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, post("/check?timeout=6s", review))
				codes <- strings.TrimSpace(w.Body.String())[:3]
			}()
		}
		got := map[string]int{}
		for range 200 {
			got[<-codes]++
		}
		h.Wait()
		if most != 20 || got[`{"a`] != 100 || got["500"] != 100 { // 5.4 seconds are five rounds
			t.Errorf("%d at once, %v", most, got)
		}
	})
}

func TestLogOfBadRequests(t *testing.T) {
	var log bytes.Buffer
	h := webhooks.NewHandler(&fakeOperator{}, webhooks.Limits{}, zerolog.New(&log))
	h.ServeHTTP(httptest.NewRecorder(), post("/check", "{"))
	if !strings.Contains(log.String(), `A review for \"/check\" cannot be answered: The review cannot be read`) {
		t.Errorf("log %s", &log)
	}
}
