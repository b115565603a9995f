package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// TestHostsTakeOver: a host without rights to the lease says so; of two hosts, one runs the operators, and the other one has
// loaded them and continues when the first one is stopped, while that one still answers reviews.
func TestHostsTakeOver(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", version(t, "handlers=create,check"))
	t.Cleanup(func() { // the configuration stays when the last host ends
		_ = h.Dynamic().Resource(validatingConfigurations).Delete(context.WithoutCancel(t.Context()), "a."+h.namespace+".wasmoperators.hosting.kopf.dev", metav1.DeleteOptions{})
		_ = h.Dynamic().Resource(mutatingConfigurations).Delete(context.WithoutCancel(t.Context()), "a."+h.namespace+".wasmoperators.hosting.kopf.dev", metav1.DeleteOptions{})
	})
	server := fmt.Sprintf(`{"type": "server", "addr": "127.0.0.1", "secret": {"namespace": %q, "name": "hooks"}}`, h.namespace)
	args := []string{"-n", h.namespace, "--admission-server", server, "--replicas", "leader", "--lease", h.namespace + "/hosts", "--lease-duration", leasing.String()}
	refused := kopf(t, []string{h.kubeconfig(t, "host")}, append([]string{"serve"}, args...)...)
	if refused.code != 1 || strings.Count(refused.stderr, "it may not get, create, update leases.coordination.k8s.io hosts") != 1 {
		t.Fatalf("without rights: %+v", refused)
	}
	h.ApplyIn(t, h.namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: lease}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}, {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [hosts], verbs: [get, update]}, {apiGroups: [''], resources: [secrets], verbs: [get, create, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: lease}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lease}, subjects: [{kind: ServiceAccount, name: host}]}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: hosts}}`) // no host has to wait for a former one

	h.serve(t, args...)
	first := h.process
	first.says(t, leads)
	h.declare(t, "a", "v1", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	h.serve(t, args...)
	second := h.process
	second.says(t, waits)
	second.says(t, "The operator starts.") // it is loaded, and stands by
	h.create(t, "one", "{}")
	h.handled(t, "one")
	leader := h.declared(t, "a").Status.Host
	first.until(t, "it says what it has handled", func() bool { return len(first.stderr.With("/one]", "'createFn' succeeded")) == 1 })
	if leader == "" || len(second.stderr.With("/one]")) > 0 {
		t.Errorf("the host of the operator is %q; the other one says %q", leader, second.stderr.With("/one]"))
	}

	stopped := time.Now()
	first.signal(t, syscall.SIGTERM)
	second.says(t, leads)
	t.Logf("after SIGTERM, another host with admission handlers led after %v", time.Since(stopped).Round(10*time.Millisecond))
	h.space.eventually(t, func() error { // until API servers know the new leader
		_, err := h.client(examples).Create(t.Context(), reviewable("two", "allow"), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	h.handled(t, "two")
	if code := first.exits(t); code != 0 || len(first.stderr.With("/two]", "'createFn' succeeded"))+len(second.stderr.With("/two]", "'createFn' succeeded")) != 1 {
		t.Errorf("the stopped host ends with %d; it says %q, and the other one %q", code, first.stderr.With("/two]"), second.stderr.With("/two]"))
	}
	h.space.until(t, "the status names the new leader", func() bool { s := h.declared(t, "a").Status; return s.Host != "" && s.Host != leader })
	if started := second.stderr.With("The operator starts."); len(started) != 1 {
		t.Errorf("the operator is started again: %q", started)
	}
}

// enlist starts a host that shares the objects with the others, and waits until it does.
func (h *hosting) enlist(t *testing.T) *process {
	t.Helper()
	h.serve(t, "-n", h.namespace, "--log-format", "json", "--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0", "--replicas", "shared", "--lease", h.namespace+"/hosts", "--lease-duration", leasing.String())
	h.process.says(t, "members share the objects")
	return h.process
}

// spansOf returns the calls in some hosts, by operators and objects.
func spansOf(t *testing.T, hosts ...*process) map[string][]span {
	t.Helper()
	spans := map[string][]span{}
	for i, one := range hosts {
		for _, line := range one.stderr.All() {
			var record struct{ Message, Operator string }
			var said call
			if json.Unmarshal([]byte(line), &record) != nil {
				continue // a part of a line
			}
			_, printed, ok := strings.Cut(record.Message, " (stdout): ")
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(printed), &said); err != nil {
				t.Fatalf("%q: %v", printed, err)
			}
			if said.Slept == "" {
				key := record.Operator + " " + said.Name
				spans[key] = append(spans[key], span{call: said, replica: i, began: said.at(t), end: said.at(t)})
				continue
			}
			of := spans[record.Operator+" "+said.Slept]
			of[len(of)-1].end = said.at(t)
		}
	}
	return spans
}

// secondOperator is the spec of an operator that handles the same objects as another one, without a state in common.
const secondOperator = `, grants: {config: {handlers: create delete}}, settings: {persistence.finalizer: b.example.com/finalizer, persistence.diffbase_storage: {type: annotations, prefix: b.example.com}, persistence.progress_storage: {type: annotations, prefix: b.example.com}}`

// TestHostsShareTheObjects: of three hosts that run two operators, one is killed and one is stopped. Each object is handled by both
// operators, and by none of them in two hosts at once. No finalizer is left when an operator is removed.
func TestHostsShareTheObjects(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", guest(t, "scripted"))
	refused := kopf(t, []string{h.kubeconfig(t, "host")}, "serve", "-n", h.namespace, "--replicas", "shared", "--lease", h.namespace+"/hosts")
	if refused.code != 1 || !strings.Contains(refused.stderr, "it may not get, create, update, list, delete leases.coordination.k8s.io of any name") {
		t.Fatalf("without rights: %+v", refused)
	}
	h.ApplyIn(t, h.namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: lease}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, delete]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: lease}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lease}, subjects: [{kind: ServiceAccount, name: host}]}`)
	h.declare(t, "a", "v1", "tenant", ", grants: {config: {handlers: create delete}}, onRemoval: {finalizers: Release}")
	h.declare(t, "b", "v1", "tenant", secondOperator)
	hosts := []*process{h.enlist(t), h.enlist(t), h.enlist(t)}
	h.condition(t, "a", api.Shared, "Serving")
	h.condition(t, "b", api.Shared, "Serving")
	for i, one := range hosts {
		one.until(t, fmt.Sprintf("host %d runs both operators", i), func() bool { return len(one.stderr.With("The operator starts.")) == 2 })
	}
	const batch = 20
	objects := 0
	create := func() {
		for range batch {
			h.create(t, fmt.Sprint("obj-", objects), "{do: sleep, seconds: 0.3}")
			objects++
		}
	}
	handled := func() {
		t.Helper()
		h.space.eventually(t, func() error {
			done := 0
			for _, calls := range spansOf(t, hosts...) {
				if slices.ContainsFunc(calls, func(s span) bool { return s.end.After(s.began) }) {
					done++
				}
			}
			if done != 2*objects {
				return fmt.Errorf("%d of %d calls have ended", done, 2*objects)
			}
			return nil
		})
	}
	create()
	handled()
	create()
	hosts[0].signal(t, syscall.SIGKILL)
	hosts[0].exits(t)
	create()
	handled()
	h.process = hosts[2]
	open, _ := h.listening(t)
	if got := kopf(t, nil, "get", "--host", open, "-o", "wide"); got.code != 0 || strings.Count(got.stdout, "  True ") != 2 || !strings.Contains(got.stdout, "HOST") {
		t.Errorf("kopf get: %+v", got)
	}
	hosts = append(hosts, h.enlist(t))
	create()
	stopped := time.Now()
	hosts[1].signal(t, syscall.SIGTERM)
	if code := hosts[1].exits(t); code != 0 {
		t.Errorf("the stopped host ends with %d", code)
	}
	create()
	handled()
	t.Logf("%v after SIGTERM, the others have handled %d objects with both operators, those of the stopped host, too", time.Since(stopped).Round(10*time.Millisecond), 2*batch)
	all := spansOf(t, hosts...)
	checkSpans(t, all, 2*objects)
	working := map[int]bool{}
	for _, calls := range all {
		for _, one := range calls {
			working[one.replica] = true
		}
	}
	if len(working) != len(hosts) {
		t.Errorf("only %d hosts of %d have handled objects", len(working), len(hosts))
	}

	h.guarded(t, "a")
	h.undeclare(t, "a")
	h.undeclared(t, "a")
	h.create(t, "later", "{}")
	h.space.until(t, "the other operator handles a new object", func() bool { return len(spansOf(t, hosts...)) == 2*objects+1 })
	list, err := h.client(examples).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		if slices.ContainsFunc(item.GetFinalizers(), func(f string) bool { return !strings.HasPrefix(f, "b.example.com") }) {
			t.Errorf("%s has the finalizers %v", item.GetName(), item.GetFinalizers())
		}
	}
}

// TestFaultsOfHostsThatShare: while hosts are killed, stopped, stand still, or lose the API server, and all Leases are deleted, each
// object is handled by both operators, and by none of them in two hosts at once. The short form cuts off a host.
func TestFaultsOfHostsThatShare(t *testing.T) {
	t.Parallel()
	for name, fault := range shareFaults() {
		if !full() && name != "cut off" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosted(t, identity.Token)
			h.pack(t, "v1", guest(t, "scripted"))
			h.declare(t, "a", "v1", "tenant", ", grants: {config: {handlers: create}}")
			h.declare(t, "b", "v1", "tenant", secondOperator)
			c := &crew{space: h.space}
			enlist := func(t *testing.T) {
				t.Helper()
				p := newProxy(t, c.RESTConfig())
				one := c.operate(t, []string{"KUBECONFIG=" + p.kubeconfig(t)}, "serve", "-n", h.namespace, "--allow-registry", h.registry.Ref("x").Registry, "--log-format", "json",
					"--replicas", "shared", "--lease", h.namespace+"/hosts", "--lease-duration", leasing.String())
				one.until(t, "it runs both operators", func() bool { return len(one.stderr.With("The operator starts.")) == 2 })
				one.says(t, "members share the objects")
				c.all = append(c.all, &sailor{one, p})
			}
			spans := func() map[string][]span {
				var hosts []*process
				for _, one := range c.all {
					hosts = append(hosts, one.process)
				}
				return spansOf(t, hosts...)
			}
			objects := c.suffer(t, fault, enlist, func(batch, count int) {
				c.eventually(t, func() error {
					done := 0
					for name, calls := range spans() {
						if strings.Contains(name, fmt.Sprintf(" obj-%d-", batch)) && slices.ContainsFunc(calls, func(s span) bool { return s.end.After(s.began) }) {
							done++
						}
					}
					if done != 2*count {
						return fmt.Errorf("batch %d: %d of %d calls have ended", batch, done, 2*count)
					}
					return nil
				})
			})
			checkSpans(t, spans(), 2*objects)
		})
	}
}
