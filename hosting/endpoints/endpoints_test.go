package endpoints

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/hosting/journals"
	"github.com/kopf-wasm/kopf/internal/metricstest"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// hostile are texts that a guest, an author or a registry may choose.
const hostile = "<script>alert(1)</script>\" onload=\"x' `\x1b[31m"

// source is a host of a test with one well-behaved operator and hostile ones.
type source struct {
	operators []facts.Operator
	journal   journals.Journal
	asked     atomic.Int64
	retried   atomic.Int64
	stopped   bool
	replicas  *facts.Replicas
}

func (s *source) Facts() []facts.Operator {
	s.asked.Add(1)
	return s.operators
}

func (s *source) Journal(key hosting.Key) (*journals.Journal, error) {
	if key != mailer {
		return nil, fmt.Errorf("%w: %s", hosting.ErrUnknown, key)
	}
	return &s.journal, nil
}

func (s *source) Retry(key hosting.Key) error {
	_, err := s.Journal(key)
	if err == nil {
		s.retried.Add(1)
	}
	return err
}

func (s *source) Object(key hosting.Key, uid string) (*facts.Object, error) {
	_, err := s.Journal(key)
	return &facts.Object{Known: uid == "u", Daemons: []string{}}, err
}

func (s *source) IsRunning() bool { return !s.stopped }

func (s *source) Replicas() *facts.Replicas { return s.replicas }

func (s *source) SharedMemory() *facts.SharedMemory {
	return &facts.SharedMemory{Used: 3 << 20, Limit: 1 << 30}
}

var mailer = hosting.Key{Kind: api.Namespaced, Namespace: "team", Name: "mailer"}

func newSource() *source {
	now := time.Now()
	var took meters.Histogram
	took.Observe(time.Second)
	good := facts.Operator{
		Kind: api.Namespaced, Namespace: "team", Name: "mailer", Account: "system:serviceaccount:team:mailer", Ready: true, Reason: "Serving", Started: &now,
		Module: facts.Module{Declared: "oci://ghcr.io/team/mailer:v1", Digest: "sha256:00", Handlers: 3, Resources: []string{"things.v1.kopf.dev"}},
		Work:   facts.Work{Objects: 12, Calls: 345, Errors: 6, ComputingSeconds: 1.5}, Memory: facts.Memory{Instances: 3 << 20, Host: 4096},
		Limits: []facts.Limit{{Name: "MemoMemory", Used: 10, Limit: 100, Hits: 7}},
		Measured: facts.Measured{
			Handlers: []facts.Handler{{Handler: "create_fn", Reason: "create", Calls: map[string]uint64{"succeeded": 339, "error": 6}, Retries: 5, Running: 1, Seconds: 12.5}},
			Requests: map[string]uint64{"200": 700, "409": 8}, Spans: &facts.Spans{Sent: 90, Dropped: 9}, Took: took.Read(),
		},
	}
	bad := facts.Operator{
		Kind: api.Cluster, Name: hostile, Account: hostile, Reason: hostile, Module: facts.Module{Declared: hostile, Artifact: hostile, Digest: hostile, Resources: []string{hostile}},
		Conditions: []api.Condition{{Type: api.Degraded, Status: api.True, Reason: hostile, Message: hostile}, {Type: hostile, Status: hostile}},
		Errors:     []facts.Error{{Time: now, Message: hostile}}, Limits: []facts.Limit{{Name: hostile, Hits: 1}},
		Measured: facts.Measured{Handlers: []facts.Handler{{Handler: hostile, Reason: hostile, Calls: map[string]uint64{hostile: 1}}}},
	}
	return &source{operators: []facts.Operator{bad, good}}
}

// ask makes a request to a handler, and returns the answer with its text.
func ask(t *testing.T, h http.Handler, method, path string, header ...string) (answer, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+path, nil)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header()}, w.Body.String()
}

// answer is an answer without its body.
type answer struct {
	StatusCode int
	Header     http.Header
}

// TestPageEscapes: no text of a guest becomes an element or an attribute of the page.
func TestPageEscapes(t *testing.T) {
	h := New(newSource(), hostile).Handler(nil)
	answer, text := ask(t, h, "GET", "/statusz?format=html&q="+"%3Cscript%3E")
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s", answer.StatusCode, answer.Header)
	}
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Errorf("the operator is not found by its text:\n%s", text)
	}
	elements := map[string]bool{}
	decoder := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "\x1b", ""))) // XML has no such character; facts have none, either
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local] = true
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	if elements["script"] || !elements["article"] {
		t.Errorf("elements %v", elements)
	}
}

// TestPageUsesNothingElse: the policy allows the styles of the page, and no scripts, no
// frames and no other servers.
func TestPageUsesNothingElse(t *testing.T) {
	answer, text := ask(t, New(newSource(), "v1").Handler(nil), "GET", "/statusz", "Accept", "text/html,*/*")
	policy := answer.Header.Get("Content-Security-Policy")
	_, rest, _ := strings.Cut(text, "<style>")
	shown, _, _ := strings.Cut(rest, "</style>")
	if !strings.Contains(policy, "default-src 'none'; style-src 'sha256-"+digestOf(shown)+"'") || strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q for the styles %q", policy, shown)
	}
	for _, bad := range []string{"<script", "src=", "style=", "http://", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(text, `name="viewport"`) || !strings.Contains(text, "prefers-color-scheme:dark") {
		t.Error("the page is not made for phones, or has no dark mode")
	}
}

// TestConditionsThatNeedAttention: only these are marked, whatever their status is.
func TestConditionsThatNeedAttention(t *testing.T) {
	s := newSource()
	s.operators = s.operators[1:]
	s.operators[0].Conditions = []api.Condition{
		{Type: api.Ready, Status: api.True, Reason: "R1"},
		{Type: api.Granted, Status: api.False, Reason: "R2"},
		{Type: api.Verified, Status: api.Unknown, Reason: "R3"},
		{Type: api.Throttled, Status: api.False, Reason: "R4"},
		{Type: api.Quarantined, Status: api.True, Reason: "R5"},
	}
	_, text := ask(t, New(s, "v1").Handler(nil), "GET", "/statusz?format=html")
	for _, want := range []string{`dim">Ready True R1`, `bad">Granted False R2`, `dim">Verified Unknown R3`, `dim">Throttled False R4`, `bad">Quarantined True R5`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// TestReplicasAreSeen: on the page, in the report and in the metrics.
func TestReplicasAreSeen(t *testing.T) {
	s := newSource()
	h := New(s, "v1").Handler(nil)
	if _, text := ask(t, h, "GET", "/metrics"); strings.Contains(text, "kopf_leader") {
		t.Error("a host without replicas has the metric kopf_leader")
	}
	s.replicas = &facts.Replicas{Name: "host-b", Leader: "host-a", Shared: true, Members: 3}
	h = New(s, "v1").Handler(nil)
	for path, says := range map[string]string{"/statusz": `"members": 3`, "/statusz?format=html": "replica host-b, the leader is host-a; 3 hosts share the objects", "/metrics": "kopf_replicas 3"} {
		if _, text := ask(t, h, "GET", path); !strings.Contains(text, says) {
			t.Errorf("%s does not say %q:\n%s", path, says, text)
		}
	}
	for _, leads := range []bool{false, true} {
		s.replicas = &facts.Replicas{Name: "host-b", Leader: "host-a", Leads: leads}
		for i := range s.operators {
			s.operators[i].Standby = !leads
		}
		h = New(s, "v1").Handler(nil)
		want := map[string]string{"/statusz": `"leads": false`, "/statusz?format=html": "replica host-b, stands by; the leader is host-a", "/metrics": "kopf_leader 0"}
		if leads {
			want = map[string]string{"/statusz": `"leads": true`, "/statusz?format=html": "replica host-b, the leader", "/metrics": "kopf_leader 1"}
		}
		for path, says := range want {
			if _, text := ask(t, h, "GET", path); !strings.Contains(text, says) {
				t.Errorf("%s does not say %q:\n%s", path, says, text)
			}
		}
		if _, text := ask(t, h, "GET", "/statusz?format=html"); strings.Contains(text, "stands by</span>") == leads {
			t.Errorf("leads %t:\n%s", leads, text)
		}
	}
}

// TestSearch finds operators by all words, and by their state.
func TestSearch(t *testing.T) {
	h := New(newSource(), "v1").Handler(nil)
	for query, want := range map[string]int{"": 2, "q=mailer": 1, "q=TEAM+things": 1, "q=team+nothing": 0, "q=degraded": 0, "only=problems": 1, "only=problems&q=mailer": 0} {
		_, text := ask(t, h, "GET", "/statusz?format=html&"+query)
		if got := strings.Count(text, "<article"); got != want {
			t.Errorf("%q: %d operators, want %d", query, got, want)
		}
	}
}

// TestReportAsJSON: the names of the fields are stable.
func TestReportAsJSON(t *testing.T) {
	_, text := ask(t, New(newSource(), "v1").Handler(nil), "GET", "/statusz")
	var report struct {
		Schema string
		Host   struct {
			Version          string
			Operators, Ready int
		}
		Operators []map[string]any
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.Schema != "hosting.kopf.dev/statusz/v1" || report.Host.Version != "v1" || report.Host.Operators != 2 || report.Host.Ready != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	if strings.ContainsAny(text, "<>\x1b") {
		t.Errorf("not escaped: %s", text)
	}
	for _, name := range []string{"kind", "namespace", "name", "account", "module", "ready", "reason", "conditions", "restarts", "started", "work", "memory", "limits", "lastErrors", "measured"} {
		if _, ok := report.Operators[1][name]; !ok {
			t.Errorf("the field %s is missing", name)
		}
	}
	if answer, _ := ask(t, New(newSource(), "v1").Handler(nil), "GET", "/statusz?format=xml"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("of an unknown format: %d", answer.StatusCode)
	}
}

// TestReportsAreBounded: many requests cost one report, and many operators a bounded one.
func TestReportsAreBounded(t *testing.T) {
	s := newSource()
	for len(s.operators) < maxOperators+10 {
		s.operators = append(s.operators, facts.Operator{Kind: api.Namespaced, Namespace: "n", Name: fmt.Sprint(len(s.operators))})
	}
	e := New(s, "v1")
	e.reports.last, e.reports.until = e.reports.make(time.Now()), time.Now().Add(time.Hour)
	before := s.asked.Load()
	for range 20 {
		ask(t, e.Handler(nil), "GET", "/livez")
		_, text := ask(t, e.Handler(nil), "GET", "/statusz?format=html")
		if got := strings.Count(text, "<article"); got != maxShown || !strings.Contains(text, "10 operators are left out") {
			t.Fatalf("%d operators on a page", got)
		}
	}
	if got := s.asked.Load() - before; got != 0 {
		t.Errorf("the operators were asked %d times", got)
	}
}

// TestMetricsOfOperators: the labels name the operator.
func TestMetricsOfOperators(t *testing.T) {
	_, text := ask(t, New(newSource(), "v1").Handler(nil), "GET", "/metrics")
	for _, want := range []string{
		`kopf_operators 2`,
		`kopf_operator_ready{operator="mailer",operator_namespace="team"} 1`,
		`kopf_operator_calls_total{operator="mailer",operator_namespace="team"} 345`,
		`kopf_operator_memory_bytes{kind="instances",operator="mailer",operator_namespace="team"} 3.145728e+06`,
		`kopf_operator_limit_hits_total{limit="MemoMemory",operator="mailer",operator_namespace="team"} 7`,
		`kopf_operator_handler_calls_total{handler="create_fn",operator="mailer",operator_namespace="team",outcome="error",reason="create"} 6`,
		`kopf_operator_handler_seconds_total{handler="create_fn",operator="mailer",operator_namespace="team",reason="create"} 12.5`,
		`kopf_operator_call_duration_seconds_bucket{operator="mailer",operator_namespace="team",le="1"} 1`,
		`kopf_operator_api_requests_total{code="409",operator="mailer",operator_namespace="team"} 8`,
		`kopf_operator_spans_sent_total{operator="mailer",operator_namespace="team"} 90`,
		`kopf_operator_spans_dropped_total{operator="mailer",operator_namespace="team"} 9`,
		"go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// TestSharedMemoryIsShown: what all operators have, and what they may have.
func TestSharedMemoryIsShown(t *testing.T) {
	h := New(newSource(), "v1").Handler(nil)
	for path, says := range map[string]string{"/statusz": `"limit": 1073741824`, "/statusz?format=html": "operators have 3.0 MiB of 1.0 GiB", "/metrics": "kopf_operators_memory_limit_bytes 1.073741824e+09"} {
		if _, text := ask(t, h, "GET", path); !strings.Contains(text, says) {
			t.Errorf("%s does not say %q:\n%s", path, says, text)
		}
	}
}

// TestMetricsOfHostsAreThoseOfTheManual: the manual, the dashboard and the alert rules have the
// metrics of a host, with their labels.
func TestMetricsOfHostsAreThoseOfTheManual(t *testing.T) {
	s := newSource()
	s.operators, s.replicas = s.operators[1:], &facts.Replicas{Shared: true}
	_, text := ask(t, New(s, "v1").Handler(nil), "GET", "/metrics")
	found := metricstest.Parse(t, text)
	_, manual := metricstest.Sections(t, "../../docs/monitoring.md", "## Metrics of a serving host")
	if diff := cmp.Diff(metricstest.Documented(t, manual, "operator", "operator_namespace"), found); diff != "" {
		t.Errorf("docs/monitoring.md (-) and the metrics (+) differ:\n%s", diff)
	}
	for _, file := range []string{"dashboard-serve.json", "alerts-serve.yaml"} {
		for _, name := range metricstest.Used(t, "../../charts/kopf/files/"+file, found) {
			if _, ok := found[name]; !ok {
				t.Errorf("%s has the metric %s, which does not exist", file, name)
			}
		}
	}
}

// TestMetricsOfHandlersAreBounded: however many operators and handlers there are.
func TestMetricsOfHandlersAreBounded(t *testing.T) {
	for operators, want := range map[int]int{0: maxHandlers, 1: maxHandlers, 400: 50, 5000: 4, 100_000: fewest} {
		if got := share(operators); got != want {
			t.Errorf("%d operators: %d handlers of each, want %d", operators, got, want)
		}
	}
	f := &facts.Operator{}
	for i := range facts.MaxHandlers {
		f.Measured.Handlers = append(f.Measured.Handlers, facts.Handler{Handler: fmt.Sprint(i), Reason: "create"})
	}
	sent := make(chan prometheus.Metric, 1000)
	measured(sent, f, 4)
	if n := len(sent); n != 1+4*(int(meters.Outcomes)+3) {
		t.Errorf("%d metrics of 4 handlers", n)
	}
}

// TestOnlyOwnNamesOnLoopback: a name that leads to the machine does not let a page of another
// site in, and such a page cannot make changes.
func TestOnlyOwnNamesOnLoopback(t *testing.T) {
	s := newSource()
	h := New(s, "v1").Handler(nil)
	for host, want := range map[string]int{"127.0.0.1:8080": 200, "localhost": 200, "LOCALHOST:1": 200, "[::1]:8080": 200, "evil.example": 403, "127.0.0.1.evil.example:8080": 403, "10.0.0.1": 403} {
		if answer, _ := ask(t, h, "GET", "/statusz", "Host", host); answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, answer.StatusCode, want)
		}
	}
	if answer, _ := ask(t, h, "GET", "/", "Host", "localhost"); answer.StatusCode != http.StatusFound || answer.Header.Get("Location") != "/statusz" {
		t.Errorf("the root does not lead to the page: %d %s", answer.StatusCode, answer.Header.Get("Location"))
	}
	path := "/wasmoperators/team/mailer/retry"
	if answer, _ := ask(t, h, "POST", path, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); answer.StatusCode != http.StatusForbidden || s.retried.Load() > 0 {
		t.Errorf("a page of another site has retried: %d", answer.StatusCode)
	}
	if answer, _ := ask(t, h, "POST", path); answer.StatusCode != http.StatusNoContent || s.retried.Load() != 1 {
		t.Errorf("a retry: %d", answer.StatusCode)
	}
	if answer, _ := ask(t, h, "GET", path); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a retry by GET: %d", answer.StatusCode)
	}
	if answer, text := ask(t, h, "POST", "/clusterwasmoperators/mailer/retry"); answer.StatusCode != http.StatusNotFound || !strings.Contains(text, "no such operator: ClusterWasmOperator mailer") {
		t.Errorf("of an unknown operator: %d %s", answer.StatusCode, text)
	}
}

func TestProbes(t *testing.T) {
	s := newSource()
	h := New(s, "v1").Handler(&Access{}) // probes need no token
	for _, path := range []string{"/livez", "/readyz"} {
		if answer, text := ask(t, h, "GET", path); answer.StatusCode != http.StatusOK || text != "ok\n" {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	s.stopped = true
	if answer, _ := ask(t, h, "GET", "/readyz"); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("of a host that does not run: %d", answer.StatusCode)
	}
}

// TestFollowedLogs: a client gets what was logged before, and then each new record. The
// stream ends with the endpoints.
func TestFollowedLogs(t *testing.T) {
	s := newSource()
	servers, err := Serve(t.Context(), s, Options{Addresses: []string{"127.0.0.1:0"}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	web := httptest.NewServer(servers.endpoints.Handler(nil))
	defer web.Close()
	log := zerolog.New(&s.journal)
	log.Info().Msg("first")
	url := web.URL + "/wasmoperators/team/mailer/logs"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	get := func(url string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := web.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	answer := get(url)
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || bytes.Count(text, []byte("\n")) != 1 || !bytes.Contains(text, []byte(`"record":{"level":"info","message":"first"}`)) {
		t.Fatalf("%v: %s", err, text)
	}
	following := get(url + "?follow=true")
	defer following.Body.Close()
	lines := bufio.NewScanner(following.Body)
	for i, want := range []string{"first", "second", "third"} {
		if i > 0 {
			log.Info().Msg(want)
		}
		var line Record
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil || line.Text() != want || line.Time.IsZero() {
			t.Fatalf("got %q, want %s", lines.Text(), want)
		}
	}
	servers.Close()
	if lines.Scan() {
		t.Errorf("got %q at the end", lines.Text())
	}
}

// TestFollowersAreBounded: others find room among the connections.
func TestFollowersAreBounded(t *testing.T) {
	e := New(newSource(), "v1")
	for range maxFollowers {
		e.following <- struct{}{}
	}
	if answer, text := ask(t, e.Handler(nil), "GET", "/wasmoperators/team/mailer/logs?follow=true"); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "too many clients follow logs") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if answer, _ := ask(t, e.Handler(nil), "GET", "/wasmoperators/team/mailer/logs"); answer.StatusCode != http.StatusOK {
		t.Errorf("without following: %d", answer.StatusCode)
	}
}

func TestObjectsAreNamedByTheirUID(t *testing.T) {
	h := New(newSource(), "v1").Handler(nil)
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"/wasmoperators/team/mailer/object?uid=u", http.StatusOK, `{"known":true,"waiting":0,"working":false,"daemons":[]}` + "\n"},
		{"/wasmoperators/team/mailer/object?uid=v", http.StatusOK, `{"known":false,"waiting":0,"working":false,"daemons":[]}` + "\n"},
		{"/wasmoperators/team/mailer/object", http.StatusBadRequest, "name one object by its uid: ?uid=UID\n"},
		{"/wasmoperators/team/mailer/object?uid=" + strings.Repeat("u", 129), http.StatusBadRequest, "name one object by its uid: ?uid=UID\n"},
		{"/clusterwasmoperators/mailer/object?uid=u", http.StatusNotFound, ""},
	} {
		rsp, text := ask(t, h, "GET", tt.path)
		if rsp.StatusCode != tt.code || tt.want != "" && text != tt.want {
			t.Errorf("%.60s: %d %s", tt.path, rsp.StatusCode, text)
		}
	}
}
