package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// object is that of ../../01-minimal/obj.yaml.
func object() map[string]any {
	return map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": "a", "namespace": "default"}}
}

// module is the operator, which `make guest-examples` builds.
func module(t *testing.T) string {
	t.Helper()
	const path = "../../../.cache/guests/12-embedded.wasm"
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the operator is not built: run 'make guest-examples'")
	}
	return path
}

// TestApplicationsGiveTheirOperatorAMemo: the operator handles an object with it, and ends with the application.
func TestApplicationsGiveTheirOperatorAMemo(t *testing.T) {
	server := apiserver.New([]apiserver.Resource{apiserver.Guessed(object())})
	if err := server.Apply(t.Context(), object()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	worked := make(chan error, 1)
	var out bytes.Buffer
	o := operator.Options{
		Modules: []string{module(t)}, Namespaces: []string{"default"}, Log: zerolog.Nop(),
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: &rest.Config{Host: "http://cluster.test", Transport: server, QPS: -1}}, nil
		},
	}
	minutes := make(chan time.Time) // they last until the object is handled
	go func() {                     // It ends with the context.
		defer close(minutes)
		for ctx.Err() == nil {
			found := server.Get(apiserver.Reference{Kind: "KopfExample", Namespace: "default", Name: "a"})
			if strings.Contains(fmt.Sprint(found["status"]), "Welcome, a!") {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	go func() { worked <- run(ctx, o, &out, minutes) }() // Waited for below.
	if err := <-worked; err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	if want := "the application works, minute 3 of 3\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("it has printed %q", out.String())
	}
}

// TestOperatorsThatCannotStartEndTheApplication: the error says why.
func TestOperatorsThatCannotStartEndTheApplication(t *testing.T) {
	o := operator.Options{Modules: []string{"missing.wasm"}, Namespaces: []string{"default"}, Log: zerolog.Nop()}
	if err := run(t.Context(), o, &bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), "missing.wasm") {
		t.Errorf("the error is %v", err)
	}
}
