package oci_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// page answers with a page of referrers, and where the next one is said to be.
func page(w http.ResponseWriter, n int, next string) {
	list := struct {
		SchemaVersion int                 `json:"schemaVersion"`
		Manifests     []layout.Descriptor `json:"manifests"`
	}{SchemaVersion: 2}
	for i := range n {
		list.Manifests = append(list.Manifests, layout.Describe(layout.MediaManifest, fmt.Append(nil, i)))
	}
	w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	if next != "" {
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// Lists of referrers that lie or never end are given up, and credentials go nowhere else.
func TestReferrersOfHostileRegistries(t *testing.T) {
	var leaked atomic.Value
	leaked.Store("")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if auth := req.Header.Get("Authorization"); auth != "" {
			leaked.Store(auth)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="elsewhere"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(elsewhere.Close)
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		want  error
		words string
	}{
		{"pages for ever", func(w http.ResponseWriter, req *http.Request) { page(w, 0, req.URL.Path+"?next") }, oci.ErrUnavailable, "exceeded 10 pages"},
		{"too many", func(w http.ResponseWriter, _ *http.Request) { page(w, 201, "") }, oci.ErrLayout, "more than 200 artifacts refer to it"},
		{"a page elsewhere", func(w http.ResponseWriter, _ *http.Request) { page(w, 1, elsewhere.URL+"/more") }, oci.ErrUnavailable, "not the same origin"},
		{"a page elsewhere without TLS", func(w http.ResponseWriter, _ *http.Request) { page(w, 1, "http://registry.example.com/more") }, oci.ErrUnavailable, "not the same origin"},
		{"no list", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			fmt.Fprint(w, "[")
		}, oci.ErrUnavailable, "decode"},
		{"a list without an end", func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			fmt.Fprint(w, `{"manifests":[{}`)
			for req.Context().Err() == nil {
				if _, err := fmt.Fprint(w, strings.Repeat(",{}", 10_000)); err != nil {
					return
				}
			}
		}, oci.ErrLayout, "too much: more than 100000 values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ocitest.New(t)
			r.Override(func(w http.ResponseWriter, req *http.Request) {
				switch {
				case req.Header.Get("Authorization") != basic:
					w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
					w.WriteHeader(http.StatusUnauthorized)
				case strings.Contains(req.URL.Path, "/referrers/"):
					tt.serve(w, req)
				}
			})
			found, err := client(t, r, nil).Referrers(t.Context(), r.Ref("").At(layout.Digest(nil)))
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%d, error %v, want %v with %q", len(found), err, tt.want, tt.words)
			}
			if text := leaked.Load(); text != "" {
				t.Errorf("leaked: %s", text)
			}
		})
	}
}

// Registries without referrers do not all answer with 404. The tag has the list.
func TestReferrersOfRegistriesWithoutThem(t *testing.T) {
	const index = "application/vnd.oci.image.index.v1+json"
	subject, signature := layout.Digest(nil), layout.Describe(layout.MediaManifest, []byte("signature"))
	list, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": index, "manifests": []layout.Descriptor{signature}})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusNotAcceptable} {
		r := ocitest.New(t)
		r.Tag(strings.Replace(subject, ":", "-", 1), index, list)
		r.Override(func(w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, "/referrers/") {
				ocitest.Refuse(code)(w, req)
			}
		})
		found, err := client(t, r, nil).Referrers(t.Context(), r.Ref("").At(subject))
		if err != nil || len(found) != 1 || found[0].Digest != signature.Digest {
			t.Errorf("%d: %v, error %v", code, found, err)
		}
	}
}
