package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// posted waits until there are as many events about an object, and returns them
// by their reasons.
func (s space) posted(t *testing.T, name string, count int) map[string][]unstructured.Unstructured {
	t.Helper()
	byReason := map[string][]unstructured.Unstructured{}
	s.eventually(t, func() error {
		list, err := s.client(eventsResource).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		clear(byReason)
		for _, event := range list.Items {
			reason, _, _ := unstructured.NestedString(event.Object, "reason")
			byReason[reason] = append(byReason[reason], event)
		}
		if len(list.Items) < count {
			return fmt.Errorf("%d events about %s, want %d", len(list.Items), name, count)
		}
		return nil
	})
	return byReason
}

func text(object unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.start(t, options{})
	s.create(t, "obj1", "{do: events}")
	object := s.handled(t, "obj1")
	long := strings.Repeat("w", 511) + "..." + strings.Repeat("w", 510)
	want := map[string][2]string{ // type and message by reason
		"Informed":    {"Normal", "all is well"},
		"Warned":      {"Warning", long},
		"errorString": {"Error", "it failed: an error"},
		"Posted":      {"Special", "of another type"},
	}
	found := s.posted(t, "obj1", len(want))
	got := map[string][2]string{}
	for reason, events := range found {
		got[reason] = [2]string{text(events[0], "type"), text(events[0], "message")}
		if len(events) > 1 {
			t.Errorf("%d events with the reason %s", len(events), reason)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}

	event := found["Informed"][0]
	about := map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "name": "obj1",
		"namespace": s.namespace, "uid": string(object.GetUID()),
	}
	if diff := cmp.Diff(any(about), event.Object["involvedObject"]); diff != "" {
		t.Errorf("involvedObject (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(map[string]any{"component": "kopf"}), event.Object["source"]); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	for field, value := range map[string]string{"action": "Action?", "reportingComponent": "kopf", "reportingInstance": "dev"} {
		if got := text(event, field); got != value {
			t.Errorf("%s = %q, want %q", field, got, value)
		}
	}
	if !strings.HasPrefix(event.GetName(), "kopf-event-") {
		t.Errorf("name = %q", event.GetName())
	}
	for _, field := range []string{"firstTimestamp", "lastTimestamp", "eventTime"} {
		if text(event, field) == "" {
			t.Errorf("no %s", field)
		}
	}
}

func TestLogMessagesAsEvents(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	posting := s.start(t, options{settings: func(s *settings.Settings) { s.Posting.Loggers = true }})
	s.create(t, "loud", "{do: log}")
	s.handled(t, "loud")
	got := map[string]string{} // types by message
	for _, event := range s.posted(t, "loud", 3)["Logging"] {
		got[text(event, "message")] = text(event, "type")
	}
	want := map[string]string{
		"an ordinary message":                           "Normal",
		"Handler 'create_fn' succeeded.":                "Normal",
		"Creation is processed: 1 succeeded; 0 failed.": "Normal",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	posting.stop(t) // it posts what it has to post before

	silent := s.start(t, options{})
	s.create(t, "quiet", "{do: log}")
	s.handled(t, "quiet")
	silent.stop(t)
	if events := s.posted(t, "quiet", 0); len(events) > 0 {
		t.Errorf("events without the setting: %v", events)
	}
}
