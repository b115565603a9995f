package watching

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

func TestDecodeList(t *testing.T) {
	tests := []struct {
		name, list string
		items      []string
		meta       listMeta
		fails      bool
	}{
		{
			"custom resources, kind last", `{"apiVersion":"v1","items":[{"a":1},{"b":2}],"kind":"L","metadata":{"resourceVersion":"5","continue":"c"}}`,
			[]string{`{"a":1}`, `{"b":2}`},
			listMeta{"5", "c"},
			false,
		},
		{"metadata first", `{"kind":"L","metadata":{"resourceVersion":"5"},"items":[]}`, nil, listMeta{"5", ""}, false},
		{"null items", `{"items":null,"metadata":{"resourceVersion":"5"}}`, nil, listMeta{"5", ""}, false},
		{"no items", `{"metadata":{"resourceVersion":"5"}}`, nil, listMeta{"5", ""}, false},
		{"cut in an item", `{"items":[{"a":1},{"b":`, []string{`{"a":1}`}, listMeta{}, true},
		{"cut between items", `{"items":[{"a":1},`, []string{`{"a":1}`}, listMeta{}, true},
		{"an empty object is not an empty list", `{}`, nil, listMeta{}, true},
		{"a status", `{"kind":"Status","metadata":{},"status":"Success"}`, nil, listMeta{}, true},
		{"cut after the items", `{"metadata":{"resourceVersion":"5"},"items":[]`, nil, listMeta{"5", ""}, true},
		{"not a list", `[]`, nil, listMeta{}, true},
		{"garbage", `hello`, nil, listMeta{}, true},
		{"empty", ``, nil, listMeta{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var items []string
			meta, err := decodeList(strings.NewReader(tt.list), func(object []byte) error {
				items = append(items, string(object))
				return nil
			})
			if (err != nil) != tt.fails {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tt.items, items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if err == nil && meta != tt.meta {
				t.Errorf("metadata: %+v, want %+v", meta, tt.meta)
			}
		})
	}
}

func TestWithType(t *testing.T) {
	tests := []struct{ name, object, want string }{
		{"built-in", `{"metadata":{}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{}}`},
		{"with spaces", ` { "a":1}`, `{"kind":"Pod","apiVersion":"v1","a":1}`},
		{"empty", `{}`, `{"kind":"Pod","apiVersion":"v1"}`},
		{"not an object", `[]`, `[]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(withType([]byte(tt.object), "v1", "Pod")); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParseLine(t *testing.T) {
	tests := []struct {
		name, line, kind, object string
		fails                    bool
	}{
		{"as the server writes", `{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n", "ADDED", `{"metadata":{"name":"a"}}`, false},
		{"other order", `{"object":{"metadata":{"name":"a"}},"type":"ADDED"}`, "ADDED", `{"metadata":{"name":"a"}}`, false},
		{"an object inside that looks alike", `{"type":"ADDED","object":{"metadata":{"name":"a"},"x":"\",\"object\":{"}}`, "ADDED", `{"metadata":{"name":"a"},"x":"\",\"object\":{"}`, false},
		{"two objects in one", `{"type":"ADDED","object":{"metadata":{"name":"a"}},"extra":{"b":2}}`, "ADDED", `{"metadata":{"name":"a"}}`, false},
		{"a bookmark", `{"type":"BOOKMARK","object":{"kind":"K"}}`, "BOOKMARK", `{"kind":"K"}`, false},
		{"an error", `{"type":"ERROR","object":{"code":410}}`, "ERROR", `{"code":410}`, false},
		{"an unknown type", `{"type":"NEW","object":null}`, "NEW", `null`, false},
		{"no name", `{"type":"ADDED","object":{"metadata":{}}}`, "", "", true},
		{"no object", `{"type":"DELETED","object":null}`, "", "", true},
		{"a list", `{"type":"MODIFIED","object":[]}`, "", "", true},
		{"only a type", `{"type":"MODIFIED"}`, "", "", true},
		{"cut", `{"type":"ADDED","object":{"a":`, "", "", true},
		{"garbage", `hello`, "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseLine([]byte(tt.line))
			if (err != nil) != tt.fails || err == nil && (got.Type != tt.kind || string(got.Object) != tt.object) {
				t.Errorf("got %q %s %v, want %q %s", got.Type, got.Object, err, tt.kind, tt.object)
			}
		})
	}
}

// sink collects events as short texts.
type sink struct {
	mu   sync.Mutex
	seen []string
	full func()
	want int
}

func (s *sink) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen = append(s.seen, text); len(s.seen) == s.want {
		s.full()
	}
}

func (s *sink) Event(e Event) {
	s.add(fmt.Sprintf("%s:%s:%s", e.Type, e.Meta.Name, e.Meta.ResourceVersion))
}
func (s *sink) Listed() { s.add("listed") }

func object(name string, version int) string {
	return fmt.Sprintf(`{"kind":"K","metadata":{"uid":"uid-%s","name":%q,"resourceVersion":"%d"}}`, name, name, version)
}

func line(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object)
}

// played runs a stream against a server with scripted responses until the wanted number of
// events. Responses are for "list", "watch VERSION" and "check".
func played(t *testing.T, answers []string, want int) []string {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		request := "list"
		switch query := r.URL.Query(); {
		case query.Get("watch") != "":
			request = "watch " + query.Get("resourceVersion")
		case query.Get("limit") == "1":
			request = "check"
		}
		if len(answers) == 0 {
			return
		}
		want, answer, _ := strings.Cut(answers[0], ": ")
		if answers = answers[1:]; request != want {
			t.Errorf("requested %q, want %q", request, want)
		}
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute}
	}, func(string) {})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s := &sink{full: cancel, want: want}
	stream := &Stream{
		Client: client, Path: "/apis/g/v1/ks", APIVersion: "g/v1", Kind: "K",
		Options: func() Options { return Options{InactivityTimeout: time.Minute} },
		Log:     func(int, string) {},
	}
	_ = stream.Run(ctx, s)
	return s.seen
}

// TestStreamSurvives plays everything that servers do to watches.
func TestStreamSurvives(t *testing.T) {
	answers := []string{
		"list: " + fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"10"}}`, object("a", 1), object("b", 2)),
		"watch 10: " + line("ADDED", object("c", 11)) + line("BOOKMARK", object("", 12)) + `{"type":"MODIFIED","obj`,
		"watch 12: " + line("MODIFIED", object("a", 13)) + line("NEWTYPE", object("a", 14)),
		`check: {"items":[],"metadata":{"resourceVersion":"13"}}`,
		"watch 13: " + line("ERROR", `{"kind":"Status","code":410,"message":"too old"}`),
		`check: {"items":[],"metadata":{"resourceVersion":"20"}}`,
		"list: " + fmt.Sprintf(`{"items":[%s],"metadata":{"resourceVersion":"20"}}`, object("a", 13)),
		"watch 20: " + line("DELETED", object("a", 21)),
		"watch 21: " + line("ERROR", `{"kind":"Status","code":500,"message":"boo"}`),
		`check: {"items":[],"metadata":{"resourceVersion":"21"}}`,
		"list: " + `{"items":[],"metadata":{"resourceVersion":"30"}}`,
		"watch 30: " + line("ADDED", object("d", 31)) + "garbage\n" + line("ADDED", object("e", 32)),
		"list: " + fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"40"}}`, object("d", 31), object("e", 32)),
	}
	want := []string{
		":a:1", ":b:2", "listed", "ADDED:c:11", "MODIFIED:a:13",
		":a:13", "DELETED:b:2", "DELETED:c:11", "listed", "DELETED:a:21", "listed",
		"ADDED:d:31", ":d:31", ":e:32", "listed",
	}
	seen := played(t, answers, len(want))
	for i := 6; i+1 < len(seen) && i < 7; i++ { // deleted objects come in any order
		if seen[i] > seen[i+1] {
			seen[i], seen[i+1] = seen[i+1], seen[i]
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestOlderData checks that a stream detects a server with older data, which would send
// nothing for long.
func TestOlderData(t *testing.T) {
	t.Parallel()
	answers := []string{
		"list: " + fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"100"}}`, object("a", 1), object("b", 2)),
		"watch 100: " + line("ADDED", object("c", 101)),
		"watch 101: ",
		`check: {"items":[],"metadata":{"resourceVersion":"101"}}`,
		"watch 101: " + line("MODIFIED", object("a", 102)),
		`check: {"items":[],"metadata":{"resourceVersion":"1000"}}`,
		"watch 102: " + line("ADDED", object("d", 103)), // from another server, so it is ignored
		`check: {"items":[` + object("a", 1) + `],"metadata":{"resourceVersion":"99"}}`,
		"list: " + fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"99"}}`, object("a", 1), object("b", 2)),
		"watch 99: " + line("MODIFIED", object("b", 100)),
		`watch 100: `,
		`check: {"items":[],"metadata":{"resourceVersion":"opaque"}}`,
		"watch 100: " + line("MODIFIED", object("b", 104)),
		`check: {"items":[],"metadata":{"resourceVersion":"104"}}`,
	}
	want := []string{
		":a:1", ":b:2", "listed", "ADDED:c:101", "MODIFIED:a:102",
		":a:1", ":b:2", "DELETED:c:101", "listed", "MODIFIED:b:100", "MODIFIED:b:104",
	}
	if diff := cmp.Diff(want, played(t, answers, len(want))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
