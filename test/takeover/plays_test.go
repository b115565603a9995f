package takeover_test

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func playMinimal(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"seen":true`)
}

func playChildren(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	claims := p.cluster.Resource(t, claims, p.namespace)
	volumes := p.cluster.Resource(t, volumes, p.namespace)
	eventually(t, "the phase of the claim by "+p.by, func() bool {
		claim, err := claims.Get(t.Context(), "scratch", metav1.GetOptions{})
		if err != nil {
			return false
		}
		volume, err := volumes.Get(t.Context(), "scratch", metav1.GetOptions{})
		return err == nil && text(*claim, "status", "phase") == "Pending" && text(*volume, "status", "phase") == "Pending" &&
			text(*volume, "status", "applyClaim", "claim") == "scratch"
	})
}

func playExceptions(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"attempts":3`, `"failures":3`)
}

func playEvents(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t)
	posted := p.cluster.Resource(t, events, p.namespace)
	eventually(t, "five events by "+p.by, func() bool {
		list, err := posted.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) >= 5
	})
}

func playHandlers(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"created_second":"value"`)
	p.patch(t, objectName, `{"spec":{"field":"other"}}`)
	p.handled(t, `"value -\u003e other"`, `"updated":[["change","spec.field","value","other"]]`)
	p.stop()
	p.begin(t)
	p.handled(t, `"resumed":true`)
	p.cluster.ApplyIn(t, p.namespace, strings.Replace("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: NAME}}", "NAME", "deleted", 1))
	eventually(t, "the other object to be handled by "+p.by, func() bool { return p.annotation(t, "deleted", "last-handled-configuration") != "" })
	p.remove(t, "deleted")
	p.gone(t, "deleted")
}

func playPeering(t *testing.T, p *play) {
	text, err := os.ReadFile(examplesFolder + p.example.folder + "/peering.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, peering, _ := strings.Cut(string(text), "\n---\n") // the cluster has the definition
	p.cluster.ApplyIn(t, p.namespace, peering)
	p.peering = "example"
	p.begin(t)
	p.apply(t)
	p.handled(t, `"handled":true`)
	peers := p.cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfPeering"}, p.namespace)
	got, err := peers.Get(t.Context(), "example", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := got.Object["status"].(map[string]any); len(status) != 1 {
		t.Errorf("peers %v", status)
	}
}

func playSubhandlers(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, "hello, early", "hello, late")
}

func playRawEvents(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.until(t, `"seen":"value"`)
}

func playTesting(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"tested":true`)
}

func playBuiltins(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	found := p.cluster.Resource(t, pods, p.namespace)
	eventually(t, "one pod to be killed, and one to stay, by "+p.by, func() bool {
		tortoise, err := found.Get(t.Context(), "tortoise", metav1.GetOptions{})
		if err != nil || tortoise.GetLabels()["example.com/seen"] == "" || tortoise.GetAnnotations()[lastHandled] == "" {
			return false
		}
		_, err = found.Get(t.Context(), "mayfly", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func playFilters(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"field_equals`)
	eventually(t, "the daemon to speak by "+p.by, func() bool { return len(p.log.With("the field still has its value")) > 0 })
	p.patch(t, objectName, `{"spec":{"field":"changed"}}`)
	p.handled(t, `"change_fits`)
	eventually(t, "the end of the daemon by "+p.by, func() bool { return len(p.get(t, objectName).GetFinalizers()) == 0 })
}

func playEmbedded(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"Hello, kopf-example-1!"`)
}

func playDaemons(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	eventually(t, "the daemon to speak by "+p.by, func() bool { return len(p.log.With("still there")) > 0 })
}

func playTimers(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.until(t, `"often":{"field":"value"}`)
}

func playIndexing(t *testing.T, p *play) {
	p.cluster.ApplyIn(t, p.namespace, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {app: value}}}`)
	p.begin(t)
	p.apply(t)
	p.handled(t, `"configs":["one"]`)
}

func playAll(t *testing.T, p *play) {
	p.begin(t)
	p.apply(t)
	p.handled(t, `"prepared":true`, `"attempts":2`, `"child":"kopf-example-1-copy"`, `"counted":1`)
	p.patch(t, objectName, `{"spec":{"items":["one","two","three"]}}`)
	p.handled(t, `"after":3`)
}
