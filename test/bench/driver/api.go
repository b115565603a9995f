package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// api is the driver's own client: it shares the processors with the operators, so it
// decodes as little as it can.
type api struct {
	server string
	http   *http.Client
}

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	examples    = "/apis/kopf.dev/v1/namespaces/default/kopfexamples"
	events      = "/api/v1/namespaces/default/events"
)

// Content types of requests.
const (
	plainJSON  = "application/json"
	mergePatch = "application/merge-patch+json"
)

// clients is how many requests of the driver are under way at once.
const clients = 16

// servedTimeout is how long the new resource may take to be served.
const servedTimeout = 30 * time.Second

func newAPI(kubeconfig string) (*api, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &api{strings.TrimSuffix(config.Host, "/"), client}, nil
}

// open makes a request. Responses other than 2xx are errors.
func (a *api) open(ctx context.Context, method, path, contentType string, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", plainJSON)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // what there is of it
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return response.Body, nil
}

// do makes a request, and decodes the response unless into is nil.
func (a *api) do(ctx context.Context, method, path, contentType string, body []byte, into any) error {
	stream, err := a.open(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer stream.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, stream)
		return err
	}
	return json.NewDecoder(stream).Decode(into)
}

// define adds the resource, and returns when it is served.
func (a *api) define(ctx context.Context) error {
	if err := a.do(ctx, http.MethodPost, definitions, plainJSON, []byte(definition), nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	for {
		err := a.do(ctx, http.MethodGet, examples+"?limit=1", "", nil, nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the resource is not served: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// clean deletes all objects and all events of operators.
func (a *api) clean(ctx context.Context) error {
	if err := a.do(ctx, http.MethodDelete, examples, "", nil, nil); err != nil {
		return err
	}
	return a.do(ctx, http.MethodDelete, events, "", nil, nil)
}

func (a *api) create(ctx context.Context, name, field string) error {
	return a.createSized(ctx, name, field, variables)
}

// createSized creates an object with so many entries in its spec.
func (a *api) createSized(ctx context.Context, name, field string, variables int) error {
	return a.do(ctx, http.MethodPost, examples, plainJSON, manifest(name, field, variables), nil)
}

// multiply makes copies of an object, in the state after its handling.
func (a *api) multiply(ctx context.Context, name string, copies int) error {
	var handled map[string]any
	if err := a.do(ctx, http.MethodGet, examples+"/"+name, "", nil, &handled); err != nil {
		return err
	}
	return each(copies, func(i int) error {
		text, err := copyOf(handled, objectName(i))
		if err != nil {
			return err
		}
		return a.do(ctx, http.MethodPost, examples, plainJSON, text, nil)
	})
}

// delete returns when the object is gone, if it has no finalizers.
func (a *api) delete(ctx context.Context, name string) error {
	return a.do(ctx, http.MethodDelete, examples+"/"+name, "", nil, nil)
}

func (a *api) change(ctx context.Context, name, field string) error {
	patch := fmt.Appendf(nil, `{"spec":{"field":%q}}`, field)
	return a.do(ctx, http.MethodPatch, examples+"/"+name, mergePatch, patch, nil)
}

// each calls fn for 0 to n-1, several at once, and returns the first error.
func each(n int, fn func(i int) error) error {
	var running sync.WaitGroup
	var once sync.Once
	var first error
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	for range clients { // Waited for here.
		running.Go(func() {
			for i := range next {
				if err := fn(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	running.Wait()
	return first
}
