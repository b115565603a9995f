package dryrun

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

const widgets = "/apis/kopf.dev/v1/namespaces/ns/widgets"

// server is a real cluster: it has one object at most, and sends the events that a test wants.
type server struct {
	t        *testing.T
	mu       sync.Mutex // guards the fields below
	object   string     // empty: it does not exist
	requests []string   // that are not reading
	events   chan string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	object := s.object
	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body) // a broken request fails elsewhere
		s.requests = append(s.requests, fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body))
	}
	s.mu.Unlock()
	switch {
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r)
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"answer"}`)
	case strings.HasSuffix(r.URL.Path, "/widgets"):
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"9"},"items":[%s]}`, object)
	case object == "":
		w.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprint(w, object)
	}
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case line, ok := <-s.events:
			if !ok {
				return
			}
			fmt.Fprintln(w, line)
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// happens changes the object in the real cluster.
func (s *server) happens(kind, object string) {
	s.mu.Lock()
	if s.object = object; kind == "DELETED" {
		s.object = ""
	}
	s.mu.Unlock()
	s.events <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)
}

// wrote returns the requests to the real cluster that are not reading.
func (s *server) wrote() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// scene is an operator's client of a server.
type scene struct {
	*server
	url      string
	rt       http.RoundTripper
	reported *[]Request
}

func newScene(t *testing.T, object string) *scene {
	t.Helper()
	s := &server{t: t, object: object, events: make(chan string)}
	running := httptest.NewServer(s)
	t.Cleanup(running.Close)
	var reported []Request
	cluster := New(func(r Request) { reported = append(reported, r) })
	return &scene{s, running.URL, cluster.Wrap(http.DefaultTransport), &reported}
}

// send makes a request of the operator itself.
func (s *scene) send(method, path, contentType, body string) (int, string) {
	return s.by(s.rt, method, path, contentType, body)
}

// ask makes a request of a guest.
func (s *scene) ask(method, path, body string) (int, string) {
	guests, ok := s.rt.(clients.GuestTransport)
	if !ok {
		s.t.Fatal("guests have no transport")
	}
	return s.by(guests.ForGuests(), method, path, "application/json", body)
}

func (s *scene) by(rt http.RoundTripper, method, path, contentType, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	rsp, err := rt.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return rsp.StatusCode, string(text)
}

// patch merges into the object, and returns it.
func (s *scene) patch(body string) string {
	s.t.Helper()
	status, text := s.send("PATCH", widgets+"/w", clients.MergePatch, body)
	if status != http.StatusOK {
		s.t.Fatalf("%d: %s", status, text)
	}
	return text
}

// watching opens a watch, and returns a function that waits for its next event.
func (s *scene) watching() (next func() (kind string, object dicts.Object)) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/apis/kopf.dev/v1/widgets?watch=true", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	rsp, err := s.rt.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { rsp.Body.Close() })
	lines := bufio.NewReader(rsp.Body)
	return func() (string, dicts.Object) {
		s.t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		event, err := dicts.DecodeObject(line)
		if err != nil {
			s.t.Fatal(err)
		}
		return dicts.LookupString(event, "type"), dicts.LookupObject(event, "object")
	}
}

// widget is an object; more is added to its metadata.
func widget(version int, more, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":"w","namespace":"ns","uid":"u","resourceVersion":"%d"%s},"spec":%s}`, version, more, spec)
}

func equal(t *testing.T, what, want string, got any) {
	t.Helper()
	text, ok := got.(string)
	if !ok {
		text = string(dicts.Encode(got))
	}
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%s: %v: %s", what, err, text)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPatchesAreKeptAndNotSent(t *testing.T) {
	s := newScene(t, widget(1, "", `{"a":1}`))
	next := s.watching()
	want := widget(1, `,"annotations":{"k":"v"}`, `{"a":1}`)
	equal(t, "the answer", want, s.patch(`{"metadata":{"annotations":{"k":"v"}}}`))
	kind, object := next()
	if equal(t, "the event", want, object); kind != "MODIFIED" {
		t.Errorf("the event is %s", kind)
	}
	for _, by := range []func() (int, string){
		func() (int, string) { return s.send("GET", widgets+"/w", "", "") },
		func() (int, string) { return s.ask("GET", widgets+"/w", "") },
	} {
		_, text := by()
		equal(t, "the object that is read", want, text)
	}
	_, list := s.send("GET", "/apis/kopf.dev/v1/widgets", "", "")
	equal(t, "as it is listed", `{"metadata":{"resourceVersion":"9"},"items":[`+want+`]}`, list)
	if wrote := s.wrote(); len(wrote) > 0 {
		t.Errorf("sent: %q", wrote)
	}
	if r := (*s.reported)[0]; len(*s.reported) != 1 || r.Kind != Patch || r.Path != widgets+"/w" || string(r.Body) != `{"metadata":{"annotations":{"k":"v"}}}` {
		t.Errorf("reported: %+v", *s.reported)
	}
}

// Objects may be handled between their listing and the watch that continues from it: the events
// of that time are the first of the watch.
func TestEventsWaitForTheWatch(t *testing.T) {
	s := newScene(t, widget(1, "", `{"a":1}`))
	s.patch(`{"spec":{"a":2}}`)
	s.patch(`{"spec":{"a":3}}`)
	next := s.watching()
	kind, object := next()
	if equal(t, "the first event", widget(1, "", `{"a":3}`), object); kind != "MODIFIED" {
		t.Errorf("the first event is %s", kind)
	}
	s.patch(`{"spec":{"a":4}}`)
	_, object = next()
	equal(t, "the second event", widget(1, "", `{"a":4}`), object)
}

// A listing shows what has waited, so it is not an event any more.
func TestListingsEndTheWait(t *testing.T) {
	s := newScene(t, widget(1, "", `{"a":1}`))
	s.patch(`{"spec":{"a":2}}`)
	s.send("GET", "/apis/kopf.dev/v1/widgets", "", "")
	next := s.watching()
	s.patch(`{"spec":{"a":3}}`)
	_, object := next()
	equal(t, "the first event", widget(1, "", `{"a":3}`), object)
}

// A patch that changes nothing causes no event, as on a server.
func TestPatchesWithoutAChangeCauseNoEvent(t *testing.T) {
	s := newScene(t, widget(1, "", `{"a":1}`))
	next := s.watching()
	s.patch(`{"spec":{"a":1,"b":null}}`)
	s.patch(`{"spec":{"b":2}}`)
	_, object := next()
	equal(t, "the first event", widget(1, "", `{"a":1,"b":2}`), object)
}

// Changes of others arrive together with what the operator would have changed.
func TestChangesOfOthersAreMerged(t *testing.T) {
	s := newScene(t, widget(1, `,"finalizers":["x"]`, `{"a":1,"l":[1]}`))
	next := s.watching()
	s.patch(`{"metadata":{"annotations":{"k":"v"},"finalizers":["x","ours"]},"status":{"s":1}}`)
	next()
	s.happens("MODIFIED", widget(2, `,"finalizers":["y"],"labels":{"b":"c"}`, `{"a":2,"l":[1,2]}`))
	_, object := next()
	want := `{"metadata":{"name":"w","namespace":"ns","uid":"u","resourceVersion":"2","finalizers":["y","ours"],"labels":{"b":"c"},"annotations":{"k":"v"}},"spec":{"a":2,"l":[1,2]},"status":{"s":1}}`
	equal(t, "after the change", want, object)
	s.happens("MODIFIED", `{"metadata":{"name":"other","namespace":"ns","uid":"o"}}`)
	_, object = next()
	equal(t, "another object", `{"metadata":{"name":"other","namespace":"ns","uid":"o"}}`, object)
}

// An object that the operator would hold by its finalizer stays until the operator releases it.
func TestDeletedObjectsWaitForTheFinalizerThatTheyWouldHave(t *testing.T) {
	s := newScene(t, widget(1, "", "{}"))
	next := s.watching()
	s.patch(`{"metadata":{"finalizers":["ours"]}}`)
	next()
	s.happens("DELETED", widget(2, "", "{}"))
	kind, object := next()
	if stamp := dicts.LookupString(object, "metadata", "deletionTimestamp"); kind != "MODIFIED" || stamp == "" {
		t.Errorf("got %s %v", kind, object)
	}
	if status, _ := s.send("GET", widgets+"/w", "", ""); status != http.StatusOK {
		t.Errorf("it cannot be read: %d", status)
	}
	if _, list := s.send("GET", widgets, "", ""); !strings.Contains(list, "deletionTimestamp") {
		t.Errorf("it is not listed: %s", list)
	}
	s.patch(`{"metadata":{"annotations":{"progress":"1"}}}`)
	if kind, _ = next(); kind != "MODIFIED" {
		t.Errorf("after a patch: %s", kind)
	}
	status, text := s.send("PATCH", widgets+"/w", clients.JSONPatch, `[{"op":"test","path":"/metadata/resourceVersion","value":"2"},{"op":"remove","path":"/metadata/finalizers"}]`)
	if kind, _ = next(); kind != "DELETED" || status != http.StatusOK {
		t.Errorf("after the release: %s, %d %s", kind, status, text)
	}
	if status, _ := s.send("GET", widgets+"/w", "", ""); status != http.StatusNotFound {
		t.Errorf("it can still be read: %d", status)
	}
}

// An object that only waits for the finalizer of the operator would be gone without it.
func TestReleasedObjectsAreGone(t *testing.T) {
	deleting := `,"deletionTimestamp":"then","finalizers":["ours"]`
	s := newScene(t, widget(1, deleting, "{}"))
	next := s.watching()
	s.patch(`{"metadata":{"finalizers":null}}`)
	if kind, _ := next(); kind != "DELETED" {
		t.Errorf("after the release: %s", kind)
	}
	for method, kind := range map[string]string{"GET": "", "PATCH": clients.MergePatch} {
		if status, _ := s.send(method, widgets+"/w", kind, "{}"); status != http.StatusNotFound {
			t.Errorf("%s: %d", method, status)
		}
	}
	if _, list := s.send("GET", widgets, "", ""); !strings.Contains(list, `"items":[]`) {
		t.Errorf("it is listed: %s", list)
	}
	s.happens("MODIFIED", widget(2, deleting, `{"late":1}`)) // no event
	s.happens("DELETED", widget(3, deleting, "{}"))          // no second event
	s.happens("ADDED", strings.Replace(widget(4, "", "{}"), `"u"`, `"new"`, 1))
	if kind, object := next(); kind != "ADDED" || dicts.LookupString(object, "metadata", "uid") != "new" {
		t.Errorf("then: %s %v", kind, object)
	}
}

// An object of the same name is another object: nothing of the first one is put over it.
func TestObjectsWithTheNameOfAnotherAreNew(t *testing.T) {
	s := newScene(t, widget(1, "", "{}"))
	next := s.watching()
	s.patch(`{"metadata":{"finalizers":["ours"]}}`)
	next()
	s.happens("DELETED", widget(2, "", "{}"))
	next()
	fresh := strings.Replace(widget(4, "", "{}"), `"u"`, `"new"`, 1)
	s.happens("ADDED", fresh)
	if kind, object := next(); kind != "DELETED" || dicts.LookupString(object, "metadata", "uid") != "u" {
		t.Errorf("first: %s %v", kind, object)
	}
	kind, object := next()
	if equal(t, "the new object", fresh, object); kind != "ADDED" {
		t.Errorf("then: %s", kind)
	}
}

func TestOperationsThatDoNotFitAreConflicts(t *testing.T) {
	s := newScene(t, widget(1, "", `{"l":[1,2]}`))
	for _, operations := range []string{
		`[{"op":"test","path":"/metadata/resourceVersion","value":"0"}]`, `[{"op":"remove","path":"/spec/absent"}]`, `[{"op":"replace","path":"/spec/l/2","value":1}]`,
		`[{"op":"add","path":"/spec/absent/x","value":1}]`, `[{"op":"add","path":"/spec/l/x","value":1}]`, `[{"op":"add","path":"/metadata/name/x","value":1}]`, `[{"op":"replace","path":"","value":1}]`, `{`, `{}`, `null`, `[1]`,
	} {
		if status, text := s.send("PATCH", widgets+"/w", clients.JSONPatch, operations); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", operations, status, text)
		}
	}
	status, text := s.send("PATCH", widgets+"/w", clients.JSONPatch, `[{"op":"test","path":"","value":{}}]`)
	if len(*s.reported) > 0 || status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s, reported %+v", status, text, *s.reported)
	}
	_, text = s.send("PATCH", widgets+"/w", clients.JSONPatch, `[{"op":"add","path":"/spec/a~1b","value":{}},{"op":"add","path":"/spec/l/-","value":3},{"op":"remove","path":"/spec/l/0"},{"op":"replace","path":"/spec/l/0","value":{"x":1}},{"op":"add","path":"/spec/l/0/y","value":null}]`)
	equal(t, "the object", widget(1, "", `{"l":[{"x":1,"y":null},3],"a/b":{}}`), text)
}

func TestRequestsOfGuestsAreDryRunsOfTheServer(t *testing.T) {
	s := newScene(t, widget(1, "", "{}"))
	for _, r := range [][3]string{
		{"POST", "/api/v1/namespaces/ns/pods?fieldManager=me", `{"kind":"Pod"}`},
		{"DELETE", "/api/v1/namespaces/ns/pods/p?dryRun=None", ""},
		{"DELETE", "/api/v1/namespaces/ns/pods/p", `{"propagationPolicy":"Orphan","dryRun":[]}`},
		{"PATCH", widgets + "/w", `{"a":1}`},
	} {
		if status, text := s.ask(r[0], r[1], r[2]); status != http.StatusCreated {
			t.Errorf("%v: %d %s", r, status, text)
		}
	}
	want := []string{
		`POST /api/v1/namespaces/ns/pods?dryRun=All&fieldManager=me {"kind":"Pod"}`,
		`DELETE /api/v1/namespaces/ns/pods/p?dryRun=All {"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions"}`,
		`DELETE /api/v1/namespaces/ns/pods/p?dryRun=All {"dryRun":["All"],"propagationPolicy":"Orphan"}`,
		"PATCH " + widgets + `/w?dryRun=All {"a":1}`,
	}
	if diff := cmp.Diff(want, s.wrote()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if r := (*s.reported)[0]; r.Kind != Call || r.Status != http.StatusCreated || r.Path != "/api/v1/namespaces/ns/pods?fieldManager=me" {
		t.Errorf("reported: %+v", r)
	}
}

func TestWhatHasNoDryRunIsRefused(t *testing.T) {
	s := newScene(t, widget(1, "", "{}"))
	for _, path := range []string{"/api/v1/namespaces/ns/pods/p/exec?command=rm", "/api/v1/namespaces/ns/services/s/proxy/x", "/logs"} {
		if status, _ := s.ask("POST", path, "{}"); status != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if status, _ := s.ask("GET", "/api/v1/namespaces/ns/pods/p/exec?command=rm", ""); status != http.StatusForbidden {
		t.Errorf("GET of exec: %d", status)
	}
	if status, _ := s.ask("DELETE", "/api/v1/namespaces/ns/pods/p", "{"); status != http.StatusBadRequest {
		t.Errorf("a deletion with broken options: %d", status)
	}
	for _, method := range []string{"PUT", "DELETE", "POST"} {
		if status, _ := s.send(method, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", "", "{}"); status != http.StatusForbidden {
			t.Errorf("%s of the operator: %d", method, status)
		}
	}
	if wrote := s.wrote(); len(wrote) > 0 {
		t.Errorf("sent: %q", wrote)
	}
}

func TestEventsAreNotPostedAndQuestionsAreAsked(t *testing.T) {
	s := newScene(t, "")
	event := `{"type":"Normal","reason":"R","message":"m","involvedObject":{"kind":"Widget","name":"w","namespace":"ns"}}`
	if status, _ := s.send("POST", "/api/v1/namespaces/ns/events", "", event); status != http.StatusCreated {
		t.Errorf("an event: %d", status)
	}
	if status, _ := s.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", "{}"); status != http.StatusCreated {
		t.Errorf("a question: %d", status)
	}
	if status, _ := s.send("PATCH", widgets+"/w", clients.MergePatch, "{}"); status != http.StatusNotFound {
		t.Errorf("a patch of no object: %d", status)
	}
	if wrote := s.wrote(); len(wrote) != 1 || !strings.Contains(wrote[0], "selfsubjectaccessreviews") {
		t.Errorf("sent: %q", wrote)
	}
	if got := (*s.reported)[0].String(); got != "Would post an event about Widget ns/w: Normal R: m" {
		t.Errorf("reported: %s", got)
	}
}

func TestRequestsInWords(t *testing.T) {
	call := newRequest(Call, "POST", "/x", "", []byte(`{}`))
	call.Status = http.StatusCreated
	for want, r := range map[string]Request{
		"Would patch /x: {}": newRequest(Patch, "PATCH", "/x", "", []byte("{}")),
		"Would request POST /x: {} (a dry run of the server answers 201 Created)":                                call,
		`Would request PUT http://x: "\u0001" (the sender gets an error, because a dry run of it is impossible)`: NewHTTP("PUT", "http://x", []byte("\x01")),
		"Would request POST /x":            newRequest(Call, "POST", "/x", "", nil),
		"Would post an event about  :  : ": newRequest(Event, "POST", "/x", "", []byte("[]")),
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
