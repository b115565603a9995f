package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// eventAbout is a step that posts an event about a config map in a namespace.
func eventAbout(namespace, name string) string {
	return fmt.Sprintf(`{event: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %q, uid: u}}}`, name, namespace)
}

// A guest posts events about objects in served namespaces, and in others with a grant. What
// is no namespace never becomes a request.
func TestEventsInForeignNamespaces(t *testing.T) {
	t.Parallel()
	s, other := newSpace(t), newSpace(t)
	steps := []string{
		eventAbout(s.namespace, "served"),
		eventAbout(other.namespace, "foreign"),
		eventAbout(s.namespace+"/services/admin:80/proxy/shutdown?x=", "hostile"),
		eventAbout("../../../apis/rbac.authorization.k8s.io/v1/clusterrolebindings?x=", "hostile"),
		eventAbout(s.namespace+"%2fserviceaccounts", "hostile"),
	}
	const notGranted, notValid = "not granted to this operator", "not valid"
	op := s.start(t, options{guest: "caller", settings: standalone})
	begins(t, s.requests(t, "ungranted", steps...), []string{`"posted"`, notGranted, notValid, notValid, notValid})
	s.posted(t, "served", 1)
	op.stop(t)
	if lines := op.log.With("not granted to create events in " + other.namespace); len(lines) == 0 {
		t.Error("the log does not say what grant is missing")
	}

	op = s.start(t, options{guest: "caller", settings: standalone, calls: allowing(t, "create:events:"+other.namespace)})
	begins(t, s.requests(t, "granted", steps...), []string{`"posted"`, `"posted"`, notValid, notValid, notValid})
	other.posted(t, "foreign", 1)
	op.stop(t)
	hostile, err := s.Dynamic().Resource(eventsResource).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=hostile"})
	if err != nil || len(hostile.Items) > 0 {
		t.Errorf("there are events about hostile objects: %v, %v", hostile, err)
	}
	if n := len(other.posted(t, "foreign", 1)["Told"]); n != 1 {
		t.Errorf("%d events in the foreign namespace, want 1", n)
	}
}

func standalone(s *settings.Settings) { s.Peering.Standalone = true }

// The API server sees which program asks, and for which operator; fields are owned as by Kopf.
func TestUserAgentAndFieldManagers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const user = "operator1a" // of no other test
	config, err := clientcmd.BuildConfigFromFlags("", s.KubeconfigAs(t, user))
	if err != nil {
		t.Fatal(err)
	}
	op := s.start(t, options{guest: "caller", rest: config, settings: standalone, calls: allowing(t, "*:configmaps")})
	s.requests(t, "agent", `{verb: create, object: `+configMap("made", "x: '1'")+`, `+maps+`}`, eventAbout(s.namespace, "served"))
	s.posted(t, "served", 1)
	op.stop(t)
	seen := map[string]bool{}
	s.eventually(t, func() error { // the log is a moment late
		for _, request := range s.AuditLog(t, user) {
			if agent := request.UserAgent; !strings.HasPrefix(agent, "kopf/") || !strings.HasSuffix(agent, " (caller)") {
				t.Errorf("%s %s has the user agent %q", request.Verb, request.URI, agent)
			}
			seen[request.Verb+" "+request.Object.Resource] = true
		}
		for _, want := range []string{"list kopfexamples", "watch kopfexamples", "patch kopfexamples", "create events", "create configmaps"} {
			if !seen[want] {
				return fmt.Errorf("no %s in the audit log: %v", want, seen)
			}
		}
		return nil
	})
	made, err := s.client(configMaps).Get(t.Context(), "made", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for owner, object := range map[string]*unstructured.Unstructured{"kopf-caller": made, "kopf": s.get(t, "agent")} {
		found := false
		for _, field := range object.GetManagedFields() {
			found = found || field.Manager == owner
		}
		if !found {
			t.Errorf("%s does not own fields of %s: %v", owner, object.GetName(), object.GetManagedFields())
		}
	}
}
