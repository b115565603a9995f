// Command client-go is the bare peer of the benchmarks: a list, a watch, and a JSON
// merge patch per object from a pool of workers. There is no cache, no queue and no
// retry: it is not how operators are written, but the least that does the work.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// lastHandled is the annotation with the essence that was handled last.
const lastHandled = "peers.example.com/last-handled-configuration"

var resource = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}

// essence is what Kopf calls so: the part of the object that its user controls.
type essence struct {
	Spec     any         `json:"spec"`
	Metadata essenceMeta `json:"metadata"`
}

type essenceMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func main() {
	workers := flag.Int("workers", 16, "how many patches are in flight at once")
	namespace := flag.String("namespace", "default", "whose objects are handled")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, *namespace, *workers); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run handles all objects and their changes.
func run(ctx context.Context, namespace string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	api := client.Resource(resource).Namespace(namespace)
	queue := make(chan *unstructured.Unstructured, 1000)
	var running sync.WaitGroup
	for range workers { // Waited for by run.
		running.Go(func() { work(ctx, api, queue) })
	}
	defer running.Wait()
	defer close(queue)
	for err == nil { // when a watch ends
		err = feed(ctx, api, queue)
	}
	return err
}

// feed puts all objects into the queue, and then their changes until the watch ends.
func feed(ctx context.Context, api dynamic.ResourceInterface, queue chan<- *unstructured.Unstructured) error {
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		queue <- &list.Items[i]
	}
	changes, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		switch object := event.Object.(type) {
		case *unstructured.Unstructured:
			if event.Type != watch.Deleted {
				queue <- object
			}
		default:
			return fmt.Errorf("watch: %w", apierrors.FromObject(object))
		}
	}
	return ctx.Err()
}

func work(ctx context.Context, api dynamic.ResourceInterface, queue <-chan *unstructured.Unstructured) {
	for object := range queue {
		err := handle(ctx, api, object)
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			log.Printf("%s: %v", object.GetName(), err)
		}
	}
}

// handle patches the object, unless its essence is the one that was handled last.
func handle(ctx context.Context, api dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	annotations := object.GetAnnotations() // a copy, or nil
	last := annotations[lastHandled]
	delete(annotations, lastHandled)
	text, err := json.Marshal(essence{object.Object["spec"], essenceMeta{object.GetLabels(), annotations}})
	if err != nil || last == string(text) {
		return err
	}
	field, _, err := unstructured.NestedString(object.Object, "spec", "field")
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{lastHandled: string(text)}},
		"status":   map[string]any{"field": field},
	})
	if err != nil {
		return err
	}
	if _, err := api.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	log.Printf("%s is handled: %s", object.GetName(), field)
	return nil
}
