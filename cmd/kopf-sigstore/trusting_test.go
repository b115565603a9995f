package main

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	signing "github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// anything that is a trusted root, though nobody is trusted by it.
const emptyRoot = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`

// repository serves a file as a repository of The Update Framework does, and returns
// its root.
func repository(t *testing.T, name, content string) (url string, root []byte) {
	t.Helper()
	tomorrow := time.Now().AddDate(0, 0, 1).UTC()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signing.LoadSigner(key, crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	public, err := metadata.KeyFromPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := metadata.TargetFile().FromFile(path, "sha256")
	if err != nil {
		t.Fatal(err)
	}
	targets, snapshot, stamp, top := metadata.Targets(tomorrow), metadata.Snapshot(tomorrow), metadata.Timestamp(tomorrow), metadata.Root(tomorrow)
	targets.Signed.Targets[name] = file
	for _, role := range metadata.TOP_LEVEL_ROLE_NAMES {
		if err := top.Signed.AddKey(public, role); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{fmt.Sprintf("/targets/%s.%s", file.Hashes["sha256"], name): []byte(content)}
	for path, document := range map[string]interface {
		Sign(signer signing.Signer) (*metadata.Signature, error)
		ToBytes(pretty bool) ([]byte, error)
	}{"/1.targets.json": targets, "/1.snapshot.json": snapshot, "/timestamp.json": stamp, "/1.root.json": top} {
		if _, err := document.Sign(signer); err != nil {
			t.Fatal(err)
		}
		if files[path], err = document.ToBytes(false); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL, files["/1.root.json"]
}

// The trusted root of the public Sigstore is fetched as its repository says, from one
// that is signed as the root that is built in says, and kept for a day.
func TestFetched(t *testing.T) {
	url, root := repository(t, "trusted_root.json", emptyRoot)
	other, _ := repository(t, "trusted_root.json", emptyRoot)
	cache := t.TempDir()
	from := func(url, cache string) *tuf.Options {
		return tuf.DefaultOptions().WithCacheValidity(1).WithRoot(root).WithRepositoryBaseURL(url).WithCachePath(cache)
	}
	if _, err := fetched(from(url, cache)); err != nil {
		t.Fatal(err)
	}
	if _, err := fetched(from("http://127.0.0.1:1", t.TempDir())); err == nil || !strings.Contains(err.Error(), "cannot be had from http://127.0.0.1:1") {
		t.Errorf("error %v", err)
	}
	if _, err := fetched(from(other, t.TempDir())); err == nil || !strings.Contains(err.Error(), "cannot be had") {
		t.Errorf("a repository that somebody else has signed: error %v", err)
	}
}

// What is asked for has to be understood.
func TestRequests(t *testing.T) {
	tests := []struct{ name, request, words, answer string }{
		{"nothing", "", "this program is for kopf only", ""},
		{"no root", `{"trust":[]}`, "the trusted root", ""},
		{"a root of something", `{"trust":{"mediaType":"x"}}`, "the trusted root", ""},
		{"no signatures", `{"trust":` + emptyRoot + `}`, "", "[]\n"},
		{"a bundle of nothing", `{"trust":` + emptyRoot + `,"signatures":[{"bundle":{}}]}`, "", `[{"error":"`},
		{"no certificate", `{"trust":` + emptyRoot + `,"signatures":[{"payload":"e30="}]}`, "", `[{"error":"its certificate is not in PEM"}]`},
	}
	for _, tt := range tests {
		var answer strings.Builder
		err := run(strings.NewReader(tt.request), &answer)
		if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.words)
		}
		if !strings.HasPrefix(answer.String(), tt.answer) {
			t.Errorf("%s: answer %s", tt.name, answer.String())
		}
	}
}
