package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSettingsOfTheOwner: from a file, over it from flags, over both from the startup handler.
func TestSettingsOfTheOwner(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	file := filepath.Join(t.TempDir(), "settings.yaml")
	text := `{persistence: {finalizer: example.com/file}, posting.reporting_component: file, posting: {reporting_instance: file, event_name_prefix: file-}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.run(t, "--settings", file, "--set", "posting.reporting_instance=flag", "--set", "posting.event_name_prefix=flag-",
		"--config", `settings={"posting.event_name_prefix": "handler-"}`, "--config", "handlers=create delete")
	s.create(t, "obj1", "{do: events}")
	object := s.handled(t, "obj1")
	if got := object.GetFinalizers(); !slices.Equal(got, []string{"example.com/file"}) {
		t.Errorf("finalizers %v, want that of persistence.finalizer: in the file", got)
	}
	event := s.posted(t, "obj1", 1)["Informed"][0]
	got := []string{text1(event.Object, "reportingComponent"), text1(event.Object, "reportingInstance"), event.GetGenerateName()}
	if want := []string{"file", "flag", "handler-"}; !slices.Equal(got, want) {
		t.Errorf("the event is of %v, want %v", got, want)
	}
	s.remove(t, "obj1")
	s.gone(t, "obj1")
	p.says(t, "Deletion is processed")
}

func text1(object map[string]any, key string) string {
	value, _ := object[key].(string)
	return value
}

// TestWrongSettings: one error names all of them, before any request to the cluster.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte("{queueing: {worker_limit: many, wroker_limit: 5}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"in a file", []string{"--settings", file}, 2, []string{"settings.yaml", `"queueing.worker_limit": "many" is not a whole number`, `unknown setting "queueing.wroker_limit"`}},
		{"no file", []string{"--settings", "nowhere.yaml"}, 2, []string{"nowhere.yaml"}},
		{"on the command line", []string{"--set", "posting.enabled=perhaps", "--set", "x"}, 2, []string{`"posting.enabled": "perhaps" is not true or false`, `"x": want NAME=VALUE`}},
		{"of a handler", []string{"--config", `settings={"posting.levle": 3}`}, 1, []string{`unknown setting "posting.levle"; known are: posting.default_backoffs`}},
		{"not granted to the handler", []string{"--config", `settings={"networking.trust_env": true}`}, 1, []string{"class grant", "--allow-setting networking.trust_env"}},
		{"a grant of nothing", []string{"--allow-setting", "posting.level"}, 2, []string{"posting.level cannot be granted: there is no setting of the class grant"}},
	}
	module := guest(t, "scripted")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refused(t, kopf(t, nil, append([]string{"run", "-A", module}, test.args...)...), test.code, test.want...)
		})
	}
}

// TestSelectors: what the API server does not send is not handled.
func TestSelectors(t *testing.T) {
	t.Parallel()
	for _, streaming := range []string{"false", "true"} {
		t.Run("watching.initial_streaming="+streaming, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			for _, name := range []string{"mine", "his", "skipped"} {
				s.create(t, name, "{}")
			}
			for _, name := range []string{"mine", "skipped"} {
				s.patch(t, name, `{"metadata":{"labels":{"app":"mine"}}}`)
			}
			p := s.run(t, "--set", "watching.initial_streaming="+streaming, "--set", "watching.chunk_size=1",
				"--set", "watching.label_selectors={kopfexamples.kopf.dev: app=mine}", "--set", "watching.field_selectors={kopf.dev/v1/*: metadata.name!=skipped}")
			s.handled(t, "mine")
			s.patch(t, "his", `{"metadata":{"labels":{"app":"mine"}}}`)
			s.handled(t, "his")
			if object := s.get(t, "skipped"); notHandled(object) == nil {
				t.Error("an object that is not selected is handled")
			}
			for _, line := range p.stderr.With("warning") {
				t.Errorf("unexpected warning: %s", line)
			}
		})
	}
}

// TestScanningDisabled: resources that appear later are not served, and there are no requests for them.
func TestScanningDisabled(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	blind := s.spawn(t, "--set", "scanning.disabled=true", "--config", "resource=lates.e2e.kopf.dev")
	blind.says(t, "Unresolved resources cannot be served")
	seeing := s.spawn(t, "--config", "resource=lates.e2e.kopf.dev", "--set", "persistence.finalizer=example.com/other",
		"--set", `persistence.progress_storage={type: annotations, prefix: other.example.com}`, "--set", `persistence.diffbase_storage={type: annotations, prefix: other.example.com}`)
	seeing.says(t, "Unresolved resources cannot be served")
	s.ApplyIn(t, s.namespace, definition("Late", "lates", "{type: object, x-kubernetes-preserve-unknown-fields: true}")+`
---
{apiVersion: e2e.kopf.dev/v1, kind: Late, metadata: {name: obj1}, spec: {field: one}}`)
	lates := schema.GroupVersionResource{Group: "e2e.kopf.dev", Version: "v1", Resource: "lates"}
	seeing.says(t, "Creation is processed")
	if calls := blind.stdout.callsFor(t, "obj1"); len(calls) > 0 {
		t.Errorf("served without scanning: %v", calls)
	}
	s.patchOf(t, lates, "obj1", `{"metadata":{"finalizers":null}}`)
	if lines := blind.stderr.With("Stopping"); len(lines) > 0 || strings.Contains(strings.Join(blind.stderr.All(), ""), "Late") {
		t.Errorf("it has noticed something: %v", lines)
	}
}
