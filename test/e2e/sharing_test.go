package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

var roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}

// sharers are operators of one process that share watches.
type sharers struct {
	space
	watches *operator.Watches
	log     reactortest.Output // of all operators

	mu      sync.Mutex // guards handled
	handled map[string][]string
}

func (s space) sharers(t *testing.T) *sharers {
	t.Helper()
	watches, err := operator.ShareWatches(t.Context(), operator.WatchesOptions{Login: s.login(s.RESTConfig()), Log: zerolog.New(zerolog.NewTestWriter(t))})
	if err != nil {
		t.Fatal(err)
	}
	all := &sharers{space: s, watches: watches, handled: map[string][]string{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operators:\n%s", all.log.String())
		}
	})
	return all
}

// login returns a login with a configuration.
func (s space) login(config *rest.Config) func(context.Context) (*credentials.Info, error) {
	return func(context.Context) (*credentials.Info, error) {
		return &credentials.Info{Config: config, DefaultNamespace: s.namespace}, nil
	}
}

// run runs an operator with an account, until the test ends.
func (s *sharers) run(t *testing.T, name string, config *rest.Config) {
	t.Helper()
	o := operator.Options{
		Settings: apart(name), Namespaces: []string{s.namespace}, Login: s.login(config), Watches: s.watches, Log: zerolog.New(&s.log).With().Timestamp().Logger(),
		Guests: []guests.Guest{native{name, func(object string, _ guests.Env) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.handled[name] = append(s.handled[name], object)
			return nil
		}}},
	}
	o.Peering.Standalone = new(true)
	op, err := operator.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(context.WithoutCancel(t.Context())) }() // Waited for by the clean-up.
	t.Cleanup(func() {
		op.Stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// count returns how many objects an operator has handled, with repetitions.
func (s *sharers) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.handled[name])
}

// account makes a user that may do everything in the namespace with the given verbs only,
// and returns the configuration of the user.
func (s *sharers) account(t *testing.T, verbs string) *rest.Config {
	t.Helper()
	config := s.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "sharer-" + s.namespace}
	s.ApplyIn(t, s.namespace, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: sharer}
rules: [{apiGroups: [kopf.dev], resources: [kopfexamples], verbs: [%s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: sharer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sharer}
subjects: [{kind: User, name: %q}]`, verbs, config.Impersonate.UserName))
	return config
}

// Operators share their watches, whenever they begin. Each handles each object once.
func TestSharedWatches(t *testing.T) {
	t.Parallel()
	all := newSpace(t).sharers(t)
	all.create(t, "before", "{}")
	const operators = 5
	for i := range operators {
		all.run(t, fmt.Sprintf("sharer%d", i), all.RESTConfig())
		all.create(t, fmt.Sprintf("obj%d", i), "{}")
	}
	for i := range operators {
		all.until(t, "all objects are handled", func() bool { return all.count(fmt.Sprintf("sharer%d", i)) == operators+1 })
	}
	all.until(t, "three watches are shared: of objects, namespaces and definitions", func() bool { return all.watches.Watches() == 3 })
}

// An operator gets what its own account may list and watch. When it loses the right, it gets
// nothing more, and its neighbours do not notice.
func TestSharedWatchesHaveTheRightsOfEach(t *testing.T) {
	t.Parallel()
	all := newSpace(t).sharers(t)
	all.run(t, "rich", all.RESTConfig())
	all.run(t, "poor", all.account(t, "list, watch, patch"))
	// After its listing, an operator may have to catch up with the shared watch over a connection of its own. If the right is lost
	// then, the API server refuses this connection, and the hub has no part in it. The second object arrives through a watch.
	objects := []string{"first", "second"}
	for i, object := range objects {
		all.create(t, object, "{}")
		for _, name := range []string{"rich", "poor"} {
			all.until(t, name+" handles the "+object+" object", func() bool { return all.count(name) == i+1 })
		}
	}
	if strings.Contains(all.log.String(), "kopfexamples is not shared") {
		t.Error("the watch is not shared from the beginning")
	}
	if err := all.client(roleBindings).Delete(t.Context(), "sharer", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	created := len(objects)
	all.until(t, "the lost right is noticed", func() bool { // by a patch that is refused, or after a minute
		all.create(t, fmt.Sprintf("obj%d", created), "{}")
		created++
		return strings.Contains(all.log.String(), "kopfexamples is not shared")
	})
	all.create(t, "last", "{}")
	all.until(t, "the other one handles all objects", func() bool { return all.count("rich") == created+1 })
	all.mu.Lock()
	defer all.mu.Unlock()
	if slices.Contains(all.handled["poor"], "last") {
		t.Error("the operator without rights handles an object that was created afterwards")
	}
}
