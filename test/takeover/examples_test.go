package takeover_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/internal/pathtest"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/packages"
)

const examplesFolder = root + "/examples/"

// Kinds of objects that examples leave.
var (
	kopfExamples = schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfExample"}
	volumes      = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "EphemeralVolumeClaim"}
	claims       = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	configMaps   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	pods         = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	events       = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

// example is a folder of examples, and what happens to its objects.
type example struct {
	folder  string
	others  []string                  // languages in which it has other ids, and so leaves other results
	clients bool                      // example.py uses a client library
	grants  []string                  // that the client library needs here
	kinds   []schema.GroupVersionKind // of the compared objects
	play    func(t *testing.T, p *play)
}

// examples are those that Kopf has, too, by number and name, except 13-hooks, which leaves no
// objects, and 17-admission, whose webhooks are those of the whole cluster: test/e2e runs both.
var examples = []example{
	{folder: "01-minimal", kinds: []schema.GroupVersionKind{kopfExamples}, play: playMinimal, others: []string{"go", "rust"}},
	{
		folder: "02-children", kinds: []schema.GroupVersionKind{volumes, claims}, play: playChildren, clients: true,
		grants: []string{"get,create,patch:persistentvolumeclaims", "get,patch:ephemeralvolumeclaims.example.com"},
	},
	{folder: "03-exceptions", kinds: []schema.GroupVersionKind{kopfExamples}, play: playExceptions},
	{folder: "04-events", kinds: []schema.GroupVersionKind{kopfExamples, events}, play: playEvents},
	{folder: "05-handlers", kinds: []schema.GroupVersionKind{kopfExamples}, play: playHandlers},
	{folder: "06-peering", kinds: []schema.GroupVersionKind{kopfExamples}, play: playPeering},
	{folder: "07-subhandlers", kinds: []schema.GroupVersionKind{kopfExamples}, play: playSubhandlers},
	{folder: "08-events", kinds: []schema.GroupVersionKind{kopfExamples}, play: playRawEvents},
	{folder: "09-testing", kinds: []schema.GroupVersionKind{kopfExamples}, play: playTesting},
	{
		folder: "10-builtins", kinds: []schema.GroupVersionKind{pods}, play: playBuiltins, clients: true,
		grants: []string{"get,delete:pods"},
	},
	{folder: "11-filtering-handlers", kinds: []schema.GroupVersionKind{kopfExamples}, play: playFilters},
	{folder: "12-embedded", kinds: []schema.GroupVersionKind{kopfExamples}, play: playEmbedded},
	{folder: "14-daemons", kinds: []schema.GroupVersionKind{kopfExamples}, play: playDaemons},
	{folder: "15-timers", kinds: []schema.GroupVersionKind{kopfExamples}, play: playTimers},
	{folder: "16-indexing", kinds: []schema.GroupVersionKind{kopfExamples}, play: playIndexing},
	{
		folder: "99-all-at-once", kinds: []schema.GroupVersionKind{kopfExamples, configMaps, events}, play: playAll, clients: true,
		grants: []string{"create:configmaps"},
	},
}

// play is one run of an example.
type play struct {
	*story
	example example
	by      string // reference, python, go, javascript or rust
	stop    func()
}

// TestExamplesLeaveEqualObjects: each example does the same under Kopf and here, in all
// languages that it has: the file of Python is the same one. All runs share a cluster, and
// each has a namespace.
func TestExamplesLeaveEqualObjects(t *testing.T) {
	for _, e := range examples {
		t.Run(e.folder, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex // guards left
			left := map[string]any{}
			t.Run("by", func(t *testing.T) { // ends when all have ended
				for _, by := range append([]string{"reference"}, e.languages(t)...) {
					t.Run(by, func(t *testing.T) {
						t.Parallel()
						objects := e.run(t, by)
						mu.Lock()
						left[by] = objects
						mu.Unlock()
					})
				}
			})
			for by := range left {
				if diff := cmp.Diff(left["reference"], left[by]); diff != "" {
					t.Errorf("objects (-reference +%s):\n%s", by, diff)
				}
			}
		})
	}
}

// languages returns those in which an example is written.
func (e example) languages(t *testing.T) []string {
	t.Helper()
	found := []string{"python"}
	for language, file := range map[string]string{"go": "main.go", "javascript": "operator.js", "rust": "lib.rs"} {
		if _, err := os.Stat(examplesFolder + e.folder + "/" + file); err == nil && !slices.Contains(e.others, language) {
			found = append(found, language)
		}
	}
	return found
}

// run runs an example in one language, and returns the objects in the end.
func (e example) run(t *testing.T, by string) any {
	t.Helper()
	s := newSetup(t)
	s.script = pathtest.Absolute(t, examplesFolder+e.folder+"/example.py")
	var folder string
	if e.clients && (by == "reference" || by == "python") {
		folder = clientLibraries(t)
		s.environment = []string{"PYTHONPATH=" + folder}
	}
	s.here = func(o *operator.Options) { e.choose(t, by, folder, o) }
	p := &play{story: newStory(t, s), example: e, by: by}
	if text, err := os.ReadFile(examplesFolder + e.folder + "/crd.yaml"); err == nil && e.folder != "01-minimal" {
		s.cluster.Apply(t, string(text))
	}
	e.play(t, p)
	objects := p.left(t)
	p.stop()
	return objects
}

// choose sets the module of an example, and its rights.
func (e example) choose(t *testing.T, by, clients string, o *operator.Options) {
	t.Helper()
	path := pathtest.Absolute(t, examplesFolder+e.folder)
	switch by {
	case "python":
		o.Modules, o.Engine = []string{path + "/example.py"}, pythonEngine(t)
		o.Python.Packages = packer(t, clients)
		o.Calls = allowing(t, e.grants)
	case "javascript":
		o.Modules, o.Engine = []string{path + "/operator.js"}, pathtest.Absolute(t, root+"/bin/engines/javascript.wasm")
	case "rust":
		o.Modules = []string{pathtest.Absolute(t, root+"/.cache/guests/rust-"+e.folder+".wasm")}
	default:
		o.Modules = []string{pathtest.Absolute(t, root+"/.cache/guests/"+e.folder+".wasm")}
	}
	o.GrantWanted = by != "python" // Kopf has no declarations
}

func allowing(t *testing.T, rules []string) (c operator.Calls) {
	t.Helper()
	for _, text := range rules {
		rule, err := operator.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Grants.Kubernetes = append(c.Grants.Kubernetes, rule)
	}
	return c
}

// clientLibraries returns the folder of client libraries that examples import, for both.
func clientLibraries(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(root+"/scripts/python-packages.sh", pathtest.Absolute(t, root+"/test/guests/python/clients/web.txt"))
	cmd.Stderr = os.Stderr
	folder, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(folder))
}

// packing is done by one test at a time, so that the others find the result in the cache.
var packing sync.Mutex

// packer packs the packages of a folder, once for all tests.
func packer(t *testing.T, folder string) *packages.Packer {
	t.Helper()
	if folder == "" {
		return nil
	}
	engine, err := os.ReadFile(pythonEngine(t))
	if err != nil {
		t.Fatal(err)
	}
	packing.Lock()
	defer packing.Unlock()
	p := &packages.Packer{From: folder, CacheDir: pathtest.Absolute(t, root+"/.cache/test/packages")}
	if _, err := p.Files(t.Context(), engine); err != nil {
		t.Fatal(err)
	}
	return p
}

// begin starts the operator.
func (p *play) begin(t *testing.T) {
	t.Helper()
	p.stop = p.start(t, p.by)
}

// apply creates the objects of a file of the example, by default those that most examples share.
func (p *play) apply(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(examplesFolder + p.example.folder + "/obj.yaml")
	if err != nil {
		text, err = os.ReadFile(examplesFolder + "01-minimal/obj.yaml")
	}
	if err != nil {
		t.Fatal(err)
	}
	p.cluster.ApplyIn(t, p.namespace, string(text))
}

// lastHandled is the annotation with the state that was handled last.
const lastHandled = "kopf.zalando.org/last-handled-configuration"

// objectName is the name of the object of most examples.
const objectName = "kopf-example-1"

// until waits until the text of the object of most examples has all words.
func (p *play) until(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, strings.Join(words, ", ")+" by "+p.by, func() bool { return p.has(t, words...) })
}

// has tells whether the text of the object has all words.
func (p *play) has(t *testing.T, words ...string) bool {
	t.Helper()
	text, err := json.Marshal(p.get(t, objectName).Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words {
		if !bytes.Contains(text, []byte(word)) {
			return false
		}
	}
	return true
}

// handled waits until an object has the words, and no progress of handlers.
func (p *play) handled(t *testing.T, words ...string) {
	t.Helper()
	p.until(t, append(words, "last-handled-configuration")...)
	eventually(t, "the end of all handlers by "+p.by, func() bool {
		for key := range p.get(t, objectName).GetAnnotations() {
			if strings.HasPrefix(key, "kopf.zalando.org/") && key != lastHandled {
				return false
			}
		}
		return true
	})
}

// left returns the objects of the example without what differs between all objects.
func (p *play) left(t *testing.T) any {
	t.Helper()
	left := map[string]any{}
	for _, kind := range p.example.kinds {
		list, err := p.cluster.Resource(t, kind, p.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			if kind == configMaps && object.GetName() == "kube-root-ca.crt" {
				continue
			}
			key, value := comparable(kind, object)
			left[kind.Kind+" "+key] = value
		}
	}
	return left
}

// comparable returns the key and the comparable part of an object.
func comparable(kind schema.GroupVersionKind, object unstructured.Unstructured) (string, any) {
	if kind == events {
		about, _, _ := unstructured.NestedStringMap(object.Object, "involvedObject")
		key := strings.Join([]string{text(object, "type"), text(object, "reason"), text(object, "message"), about["kind"], about["name"]}, " ")
		return key, text(object, "source", "component")
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	if stored := object.GetAnnotations()[lastHandled]; stored != "" {
		var essence any // the order of its keys is that of the API server in Kopf, and sorted here
		if err := json.Unmarshal([]byte(stored), &essence); err == nil {
			_ = unstructured.SetNestedField(object.Object, essence, "metadata", "annotations", lastHandled) // there are annotations
		}
	}
	if owners := object.GetOwnerReferences(); len(owners) > 0 {
		for i := range owners {
			owners[i].UID = "uid"
		}
		object.SetOwnerReferences(owners)
	}
	if kind == pods {
		return object.GetName(), object.Object["metadata"]
	}
	return object.GetName(), object.Object
}

func text(object unstructured.Unstructured, path ...string) string {
	found, _, _ := unstructured.NestedString(object.Object, path...)
	return found
}
