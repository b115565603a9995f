package peering

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/peers"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// meeting is one peering object behind a transport without a network, for use in virtual
// time. All other requests are errors.
type meeting struct {
	mu      sync.Mutex // guards the fields below
	absent  bool
	version int
	status  map[string]json.RawMessage
	patches []string
	changed chan struct{}
}

func (m *meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	const list = "/apis/kopf.dev/v1/namespaces/ns/kopfpeerings"
	switch {
	case r.Method == http.MethodGet && r.URL.Path == list && r.URL.Query().Get("watch") == "":
		items := []string{m.object()}
		if m.isAbsent() {
			items = nil
		}
		text := fmt.Sprintf(`{"metadata":{"resourceVersion":"1"},"items":[%s]}`, strings.Join(items, ","))
		return reactortest.Answer(http.StatusOK, io.NopCloser(strings.NewReader(text))), nil
	case r.Method == http.MethodGet && r.URL.Path == list:
		return reactortest.Answer(http.StatusOK, m.watch(r.Context())), nil
	case r.Method == http.MethodPatch && r.URL.Path == list+"/default" && r.Header.Get("Content-Type") == clients.MergePatch:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		code := m.patch(body)
		return reactortest.Answer(code, io.NopCloser(strings.NewReader(`{}`))), nil
	}
	return nil, fmt.Errorf("an unexpected request: %s %s", r.Method, r.URL)
}

func (m *meeting) isAbsent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.absent
}

func (m *meeting) object() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	status, _ := json.Marshal(m.status) // texts that have been parsed before
	return fmt.Sprintf(`{"kind":"KopfPeering","metadata":{"name":"default","uid":"u","resourceVersion":"%d"},"status":%s}`, m.version, status)
}

// patch merges records, as a person, an operator, or the API server does.
func (m *meeting) patch(body []byte) (code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.patches = append(m.patches, string(body))
	if m.absent {
		return http.StatusNotFound
	}
	var patch struct{ Status map[string]json.RawMessage }
	if json.Unmarshal(body, &patch) != nil {
		return http.StatusBadRequest
	}
	for key, value := range patch.Status {
		m.status[key] = value
		if string(value) == "null" {
			delete(m.status, key)
		}
	}
	m.version++
	close(m.changed)
	m.changed = make(chan struct{})
	return http.StatusOK
}

func (m *meeting) watch(ctx context.Context) io.ReadCloser {
	reader, writer := io.Pipe()
	m.mu.Lock()
	changed := m.changed
	m.mu.Unlock()
	go func() {
		for {
			select {
			case <-changed:
			case <-ctx.Done():
				_ = writer.CloseWithError(ctx.Err())
				return
			}
			m.mu.Lock()
			kind := "MODIFIED"
			if changed = m.changed; m.absent {
				kind = "DELETED"
			}
			m.mu.Unlock()
			fmt.Fprintf(writer, `{"type":%q,"object":%s}`+"\n", kind, m.object())
		}
	}()
	return reader
}

// exist deletes the object, or creates it without records.
func (m *meeting) exist(exists bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.absent = !exists; exists {
		m.status = map[string]json.RawMessage{}
	}
	m.version++
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *meeting) peers() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.status))
}

// attend runs a membership until the returned function is called.
func attend(t *testing.T, m *meeting, s settings.Peering) (p *pauses.Pauses, log *reactortest.Output, leave func()) {
	t.Helper()
	all := settings.Default()
	all.Peering = s
	return attendWith(t, m, all)
}

func attendWith(t *testing.T, m *meeting, s *settings.Settings) (p *pauses.Pauses, log *reactortest.Output, leave func()) {
	t.Helper()
	m.changed, m.status = make(chan struct{}), map[string]json.RawMessage{}
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: m}}),
		func() clients.Options { return clients.Options{RequestTimeout: time.Minute} }, func(string) {})
	log = &reactortest.Output{}
	p = pauses.New()
	d := dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfpeerings", Namespaced: true}, Namespace: "ns", Peering: true}
	member, err := New(Options{Client: client, Settings: s, Dimension: d, Identity: "me", Pauses: p, States: &watching.Set{}, Log: zerolog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		member.Run(ctx)
	}()
	return p, log, func() {
		cancel()
		<-done
	}
}

// A peer pauses the operator while it lives. Its record is removed when it is dead.
func TestMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meeting{}
		p, log, leave := attend(t, m, settings.Peering{Name: "default", Lifetime: time.Minute, Priority: 5})
		steps := []struct {
			name, patch string
			wait        time.Duration
			paused      bool
			peers       []string
		}{
			{"alone", "", time.Second, false, []string{"me"}},
			{"less important", `{"status":{"low":{"priority":4,"lastseen":"2000-01-01T00:00:00Z","lifetime":9999}}}`, time.Second, false, []string{"low", "me"}},
			{"more important", `{"status":{"high":{"priority":6,"lastseen":"2000-01-01T00:00:00Z","lifetime":20}}}`, time.Second, true, []string{"high", "low", "me"}},
			{"until it is dead", "", 20 * time.Second, false, []string{"low", "me"}},
			{"as important", `{"status":{"same":{"priority":5,"lastseen":"2000-01-01T00:00:00Z","lifetime":9999}}}`, time.Second, true, []string{"low", "me", "same"}},
			{"until it has gone", `{"status":{"same":null}}`, time.Second, false, []string{"low", "me"}},
			{"unreadable", `{"status":{"odd":{"priority":"high"}}}`, time.Second, false, []string{"low", "me", "odd"}},
		}
		for _, step := range steps {
			if step.patch != "" {
				m.patch([]byte(step.patch))
			}
			time.Sleep(step.wait)
			if p.IsOn() != step.paused {
				t.Errorf("%s: paused: %v", step.name, p.IsOn())
			}
			if diff := cmp.Diff(step.peers, m.peers()); diff != "" {
				t.Errorf("%s: peers (-want +got):\n%s", step.name, diff)
			}
		}
		leave()
		if slices.Contains(m.peers(), "me") || m.patches[len(m.patches)-1] != `{"status":{"me":null}}` {
			t.Errorf("the operator has not withdrawn: %v", m.peers())
		}
		for _, text := range []string{
			"Pausing operations in favour of [<Peer high: priority=6, lifetime=20, lastseen='2000-01-01T00:00:00+00:00'>].",
			"Possibly conflicting operators with the same priority: [<Peer same:", "Pausing all operators, including self: [<Peer low:",
			"Resuming operations after the pause.", "Keep-alive in 'default' in 'ns': ok.", "A peer in 'default' is ignored",
		} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("no %q in the log:\n%s", text, log)
			}
		}
	})
}

// The record is renewed before it expires, and not more often than needed.
func TestKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meeting{}
		_, log, leave := attend(t, m, settings.Peering{Name: "default", Lifetime: time.Minute, Stealth: true})
		for minute := range 60 {
			time.Sleep(time.Minute)
			synctest.Wait()
			all, _ := peers.ParseObject([]byte(m.object()), time.Now())
			if len(all) != 1 || all[0].Dead(time.Now()) {
				t.Fatalf("after %d minutes: %v", minute+1, all)
			}
		}
		leave()
		if n := len(m.patches); n < 61 || n > 75 {
			t.Errorf("%d patches in an hour", n)
		}
		if strings.Contains(log.String(), "Keep-alive") {
			t.Errorf("not stealthy:\n%s", log)
		}
	})
}

func TestAbsentPeeringObject(t *testing.T) {
	for _, mandatory := range []bool{false, true} {
		t.Run(fmt.Sprintf("mandatory: %v", mandatory), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &meeting{absent: true}
				p, log, leave := attend(t, m, settings.Peering{Name: "default", Lifetime: time.Minute, Mandatory: mandatory})
				time.Sleep(time.Second)
				synctest.Wait()
				if p.IsOn() != mandatory || strings.Contains(log.String(), "Waiting for it.") != mandatory {
					t.Errorf("paused: %v, log:\n%s", p.IsOn(), log)
				}
				if len(m.patches) != 1 || !strings.Contains(log.String(), "Keep-alive in 'default' in 'ns': not found.") {
					t.Errorf("patches: %v, log:\n%s", m.patches, log)
				}
				leave()
			})
		})
	}
}

// After the deletion of the peering object, an operator keeps pausing or working for any
// time: peers may live. A new object is evaluated as usual.
func TestDeletedPeeringObject(t *testing.T) {
	const high = `{"status":{"high":{"priority":6,"lastseen":"2000-01-01T00:00:00Z","lifetime":60}}}`
	for _, tt := range []struct {
		name      string
		patch     string
		at        time.Duration // after the cause of the deletion; 0: at the same time
		mandatory bool
		paused    bool
	}{
		{"in a pause", high, time.Second, false, true},
		{"as the pause begins", high, 0, false, true},
		{"in a pause, mandatory", high, time.Second, true, true},
		{"while it works", "", time.Second, false, false},
		{"while it works, mandatory", "", time.Second, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &meeting{}
				p, log, leave := attend(t, m, settings.Peering{Name: "default", Lifetime: time.Minute, Priority: 5, Mandatory: tt.mandatory})
				time.Sleep(time.Second)
				if tt.patch != "" {
					m.patch([]byte(tt.patch))
				}
				time.Sleep(tt.at)
				m.exist(false)
				for range 60 {
					time.Sleep(time.Minute)
					if p.IsOn() != tt.paused {
						t.Fatalf("paused: %t\n%s", p.IsOn(), log)
					}
				}
				if n := strings.Count(log.String(), "The peering object 'default' is deleted in 'ns'."); n != 1 {
					t.Errorf("it says so %d times", n)
				}
				m.exist(true)
				time.Sleep(time.Minute)
				if p.IsOn() || !slices.Contains(m.peers(), "me") {
					t.Errorf("when the object is there again: paused: %t, peers %v", p.IsOn(), m.peers())
				}
				leave()
			})
		})
	}
}

func TestPeeringResources(t *testing.T) {
	all := []selectors.Resource{
		{Group: "kopf.dev", Version: "v1", Plural: "kopfpeerings"},
		{Group: "kopf.dev", Version: "v1", Plural: "clusterkopfpeerings"},
		{Group: "zalando.org", Version: "v1", Plural: "kopfpeerings"},
		{Group: "kopf.dev", Version: "v2", Plural: "kopfpeerings"},
		{Group: "example.com", Version: "v1", Plural: "kopfpeerings"},
		{Group: "zalando.org", Version: "v1", Plural: "clusterkopfpeerings"},
	}
	for clusterwide, want := range map[bool][]string{
		false: {"kopfpeerings.v1.kopf.dev", "kopfpeerings.v1.zalando.org"},
		true:  {"clusterkopfpeerings.v1.kopf.dev", "clusterkopfpeerings.v1.zalando.org"},
	} {
		var got []string
		for _, r := range observation.PeeringResources(all, clusterwide) {
			got = append(got, r.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("clusterwide %v (-want +got):\n%s", clusterwide, diff)
		}
	}
}

func TestMembershipBySettings(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		paused   bool
		logged   bool
		known    bool
	}{
		{"as important", map[string]string{"peering.priority": "7"}, true, true, true},
		{"more important", map[string]string{"peering.priority": "8"}, false, true, true},
		{"stealthy", map[string]string{"peering.priority": "8", "peering.stealth": "true"}, false, false, true},
		{"elsewhere", map[string]string{"peering.name": `"other"`}, false, true, false},
		{"sharing the objects", map[string]string{"peering.priority": "7", "watching.shard_selectors": `{"*": "x"}`}, false, true, true},
		{"sharing them with an operator of a higher priority", map[string]string{"peering.priority": "6", "watching.shard_selectors": `{"*": "x"}`}, true, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &meeting{}
				p, log, leave := attendWith(t, m, reactortest.SettingsWith(t, tt.settings))
				time.Sleep(time.Second)
				m.patch([]byte(`{"status":{"peer":{"priority":7,"lastseen":"2000-01-01T00:00:00Z","lifetime":9999}}}`))
				time.Sleep(time.Second)
				synctest.Wait()
				if p.IsOn() != tt.paused || strings.Contains(log.String(), "Keep-alive") != tt.logged || slices.Contains(m.peers(), "me") != tt.known {
					t.Errorf("paused: %v, peers: %v, log:\n%s", p.IsOn(), m.peers(), log)
				}
				leave()
			})
		})
	}
}

func TestLifetimeBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meeting{}
		_, _, leave := attendWith(t, m, reactortest.SettingsWith(t, map[string]string{"peering.lifetime": "20"}))
		time.Sleep(time.Minute + time.Second)
		leave()
		if n := len(m.patches); n < 4 || n > 7 || !strings.Contains(m.patches[0], `"lifetime":20`) {
			t.Errorf("%d patches in a minute: %v", n, m.patches)
		}
	})
}

// TestPeeringObjectsThatAreMadeAgain: the next listing has the new object, and then the stream reports that the old one is gone.
func TestPeeringObjectsThatAreMadeAgain(t *testing.T) {
	m := &Peering{notice: notice{name: "default"}, objects: make(chan peeringState, 1)}
	for _, event := range []watching.Event{
		{Type: watching.Listed, Meta: watching.Meta{Name: "default", UID: "old"}},
		{Type: watching.Listed, Meta: watching.Meta{Name: "default", UID: "new"}},
		{Type: watching.Deleted, Meta: watching.Meta{Name: "default", UID: "old"}},
	} {
		m.Event(event)
	}
	if next := <-m.objects; next.gone || m.known == "" {
		t.Errorf("it is taken for deleted")
	}
}

// TestPeeringObjectsWithTooManyRecords: anyone who may write the object could let all operators compute all the time. It changes nothing.
func TestPeeringObjectsWithTooManyRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meeting{}
		p, log, leave := attend(t, m, settings.Peering{Name: "default", Lifetime: time.Minute, Priority: 5})
		patch := func(body string) {
			m.patch([]byte(body))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		patch(`{"status":{"high":{"priority":6,"lastseen":"2000-01-01T00:00:00Z","lifetime":600}}}`)
		if !p.IsOn() {
			t.Fatal("a peer of a higher priority does not pause the operator")
		}
		var many strings.Builder
		for i := range 30_000 {
			fmt.Fprintf(&many, `"%d":7,`, i)
		}
		patch(`{"status":{` + many.String() + `"high":null}}`)
		if text := log.String(); !p.IsOn() || !strings.Contains(text, "The peering object 'default' is ignored in 'ns': too many records of peers") || strings.Contains(text, "A peer in") {
			t.Errorf("paused: %v, log:\n%.2000s", p.IsOn(), text)
		}
		leave()
	})
}
