package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/webhooks"
)

// mayCreate grants a guest what its handlers create.
func mayCreate(t *testing.T, resources string) operator.Calls {
	t.Helper()
	rule, err := operator.ParseRule("create:" + resources)
	if err != nil {
		t.Fatal(err)
	}
	return operator.Calls{Grants: operator.Grants{Kubernetes: []operator.Rule{rule}}}
}

// TestReviewsOfOwnObjects: handlers that hold all instances wait for the API server,
// which waits for reviews of the same operator.
func TestReviewsOfOwnObjects(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	w := s.admit(t, options{
		config: map[string]string{"handlers": "check picky", "watch": "yes"},
		host:   host.Options{MaxInstances: 1}, calls: mayCreate(t, "widgets."+s.namespace+".example.com"),
	})
	if _, err := w.make(t, "parent", "{child: child}"); err != nil {
		t.Fatal(err)
	}
	w.says(t, "parent", "Creation is processed: 1 succeeded")
	if list := w.reviews(t, "child"); len(list) == 0 || list[0].Operation != "CREATE" {
		t.Errorf("the reviews of the child: %+v", list)
	}
}

// TestReviewsThatWrite: only with side effects, and not in dry runs.
func TestReviewsThatWrite(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check writes"}, calls: mayCreate(t, "configmaps"), noProbe: true})
	w.eventually(t, func() error {
		err := w.try(t.Context(), "dry")
		if err == nil || !strings.Contains(err.Error(), "configmaps is refused: the review is of a dry run") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
	if _, err := w.make(t, "wet", "{}"); err != nil {
		t.Fatal(err)
	}
	maps := w.space.client(configMaps)
	if _, err := maps.Get(t.Context(), "writes-wet", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "writes-dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run has written: %v", err)
	}
}

func TestReviewsThatMustNotWrite(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check claims"}, calls: mayCreate(t, "configmaps"), noProbe: true})
	w.eventually(t, func() error {
		_, err := w.make(t, "w", "{}")
		if err == nil || !strings.Contains(err.Error(), "configmaps is refused: the handler is registered without side effects") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
}

// TestReviewsThatLoop are stopped and denied; others go on.
func TestReviewsThatLoop(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check"}, host: host.Options{ComputeLimit: time.Second}})
	_, err := w.make(t, "loop", "{do: spin}")
	refusal(t, err, 500, "computed too long: more than 1s without giving back control")
	if _, err := w.make(t, "good", "{}"); err != nil {
		t.Error(err)
	}
}

const ownConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s.hooks.example.com}
webhooks:
- name: strict.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 2
  failurePolicy: Fail
  clientConfig: {url: %[2]q, caBundle: %[3]q}
  objectSelector: {matchLabels: {policy: strict}}
  rules: [{apiGroups: [%[1]s.example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
- name: lenient.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 2
  failurePolicy: Ignore
  clientConfig: {url: %[2]q, caBundle: %[3]q}
  objectSelector: {matchLabels: {policy: lenient}}
  rules: [{apiGroups: [%[1]s.example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
`

// announced is a server of a program's own, which tells how it is reached.
type announced struct {
	webhooks.LocalServer
	configs chan webhooks.ClientConfig
}

func (a *announced) Serve(ctx context.Context, handler http.Handler, announce func(webhooks.ClientConfig)) error {
	return a.LocalServer.Serve(ctx, handler, func(config webhooks.ClientConfig) {
		a.configs <- config
		announce(config)
	})
}

// TestSlowReviews: the answer comes before the API server gives up, and says why.
// The failure policy decides what it means. The server and the configuration are of
// the embedding program.
func TestSlowReviews(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	server := &announced{webhooks.LocalServer{Addr: "127.0.0.1"}, make(chan webhooks.ClientConfig, 1)}
	o := s.admission(t, options{config: map[string]string{"handlers": "check"}, admits: operator.Admission{Custom: server}})
	w := widgets{s.start(t, o), o.config["group"]}
	var config webhooks.ClientConfig
	select {
	case config = <-server.configs:
	case <-w.ended:
		t.Fatalf("the operator has ended: %v", w.err)
	case <-time.After(patience):
		t.Fatal("the server announces nothing")
	}
	s.Apply(t, fmt.Sprintf(ownConfiguration, s.namespace, *config.URL+"/check", config.CABundle))
	slow := func(name, policy, do string) error {
		object := w.widget(t, name, "{do: "+do+", seconds: 3600}")
		object.SetLabels(map[string]string{"policy": policy})
		_, err := w.client().Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	const text = "the handlers took longer than 1.8s, and the API server waits for 2s"
	for name, do := range map[string]string{"waiting": "sleep", "spinning": "spin"} {
		w.eventually(t, func() error { // until the configuration has arrived
			if err := slow(name, "strict", do); err == nil || !strings.Contains(err.Error(), text) {
				_ = w.client().Delete(t.Context(), name, metav1.DeleteOptions{}) // if it was made
				return fmt.Errorf("the answer to the %s one is %w", name, err)
			}
			return nil
		})
	}
	if err := slow("lenient", "lenient", "sleep"); err != nil {
		t.Errorf("failures are ignored, but the answer is %v", err)
	}
	if len(w.reviews(t, "lenient")) == 0 {
		t.Error("the lenient webhook is not asked")
	}
}

// TestManyReviews: 200 at once with a slow handler.
func TestManyReviews(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check"}})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if _, err := w.make(t, fmt.Sprintf("w%d", i), "{do: sleep, seconds: 0.5}"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestServerOfAGuest: with a grant, the operator chooses its server.
func TestServerOfAGuest(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	settings := fmt.Sprintf(`{"admission.server": {"type": "server", "addr": "127.0.0.1"}, "admission.managed": %q}`, s.managedName())
	both := []string{"admission.server", "admission.managed"}
	s.admit(t, options{config: map[string]string{"settings": settings}, granted: both})
	for _, tt := range []struct {
		name, settings string
		grants         []string
		want           string
	}{
		{"without a grant", settings, nil, `setting "admission.managed" is of the class grant`},
		{"with half a grant", settings, both[1:], `setting "admission.server" is of the class grant`},
		{"a file", `{"admission.server": {"type": "server", "cadump": "/tmp/x"}}`, both, `setting "admission.server": the option "cadump" is of the class host`},
		{"a program", `{"admission.server": "ngrok"}`, both, `setting "admission.server": the type "ngrok" is of the class host`},
		{"nonsense", `{"admission.server": {"type": "server", "prot": 1}}`, both, `has no option "prot"`},
		{"no server", `{"admission.managed": "x.example.com"}`, both, `setting "admission.managed": there is nothing to manage without "admission.server"`},
		{"nothing at all", `{}`, both, "there are handlers for admission or conversion, but no server or tunnel is configured for them"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := s.launch(t, s.admission(t, options{config: map[string]string{"settings": tt.settings}, granted: tt.grants}))
			<-r.ended
			if r.err == nil || !strings.Contains(r.err.Error(), tt.want) {
				t.Errorf("ended with %v, want %q", r.err, tt.want)
			}
		})
	}
}

// TestReplicasShareACertificate through a secret of the real cluster.
func TestReplicasShareACertificate(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	form := fmt.Sprintf(`{"type": "server", "addr": "127.0.0.1", "secret": {"namespace": %q, "name": "hooks"}}`, s.namespace)
	bundles := map[string]bool{}
	for range 2 {
		w := s.admit(t, options{admits: operator.Admission{Server: json.RawMessage(form), Managed: s.managedName()}})
		bundles[s.bundle(t)] = true
		if _, err := w.make(t, "bad", "{do: deny}"); err == nil {
			t.Error("a bad widget is allowed")
		}
	}
	if len(bundles) != 1 {
		t.Errorf("%d different bundles", len(bundles))
	}
	secrets := s.client(schema.GroupVersionResource{Version: "v1", Resource: "secrets"})
	secret, err := secrets.Get(t.Context(), "hooks", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if secret.Object["type"] != "kubernetes.io/tls" {
		t.Errorf("the secret is %v", secret.Object["type"])
	}
}

// bundle is the authority of the first validating webhook.
func (s space) bundle(t *testing.T) string {
	t.Helper()
	object, err := s.Dynamic().Resource(validatingConfigurations).Get(t.Context(), s.managedName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hooks, _ := object.Object["webhooks"].([]any)
	if len(hooks) == 0 {
		t.Fatal("there are no webhooks")
	}
	return fmt.Sprint(hooks[0].(map[string]any)["clientConfig"].(map[string]any)["caBundle"])
}

// endingServer is a server that ends.
type endingServer struct{ err error }

func (f endingServer) Serve(context.Context, http.Handler, func(webhooks.ClientConfig)) error {
	return f.err
}

// TestEndOfTheServer ends the operator.
func TestEndOfTheServer(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for _, tt := range []struct {
		err  error
		want string
	}{{errors.New("no network"), "admission: no network"}, {nil, "admission: the webhook server has ended"}} {
		r, _ := s.launch(t, s.admission(t, options{admits: operator.Admission{Custom: endingServer{tt.err}}}))
		<-r.ended
		if r.err == nil || !strings.Contains(r.err.Error(), tt.want) {
			t.Errorf("ended with %v, want %q", r.err, tt.want)
		}
	}
}

// TestServerFlags: bad servers are refused at once.
func TestServerFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ form, want string }{
		{"servr", `setting "admission.server": unknown type "servr" of a server; known are: `},
		{`{"type": "server", "prot": 1}`, `has no option "prot"`},
		{`{"type": `, "is neither the type of a server nor an object"},
	} {
		got := kopf(t, nil, "run", guest(t, "admission"), "-n", "default", "--admission-server", tt.form)
		refused(t, got, 1, tt.want)
	}
}
