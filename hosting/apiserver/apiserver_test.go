package apiserver_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// server answers what a path asks for, and requires a token.
func server(t *testing.T) *apiserver.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the request has no token: %v", r.Header)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/pods"):
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, `{"method":"`+r.Method+`","body":"`+string(body)+`"}`)
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"kind":"Status","reason":"Forbidden","message":"you may not"}`)
		case strings.HasSuffix(r.URL.Path, "/nodes"):
			http.Error(w, "a proxy says no", http.StatusBadGateway)
		default:
			io.WriteString(w, `"`+strings.Repeat("x", 2000)+`"`)
		}
	}))
	t.Cleanup(s.Close)
	client, err := apiserver.New(&rest.Config{Host: s.URL + "/", BearerToken: "secret"}, apiserver.Limits{Time: time.Minute, Bytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func path(t *testing.T, plural string) apipath.Path {
	t.Helper()
	p, err := apipath.Of(apipath.Target{Version: "v1", Plural: plural})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRequestsHaveCredentialsAndBodies(t *testing.T) {
	var answer struct{ Method, Body string }
	client := server(t)
	if err := client.Do(t.Context(), http.MethodPost, path(t, "pods"), []byte("text"), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Method != http.MethodPost || answer.Body != "text" {
		t.Errorf("the server got %+v", answer)
	}
	if strings.HasSuffix(client.Base(), "/") {
		t.Errorf("the server is %s, want no slash at the end", client.Base())
	}
}

func TestRefusalsAreStatuses(t *testing.T) {
	for plural, want := range map[string]struct {
		code int32
		text string
	}{"secrets": {403, "you may not"}, "nodes": {502, "Bad Gateway"}} {
		err := server(t).Do(t.Context(), http.MethodGet, path(t, plural), nil, new(any))
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v, want the status %d with %q", plural, err, want.code, want.text)
		}
	}
}

func TestLargeAnswersAreRefused(t *testing.T) {
	if err := server(t).Do(t.Context(), http.MethodGet, path(t, "services"), nil, new(any)); err == nil {
		t.Error("an answer above the limit was read")
	}
}
