package sigstore

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
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

	"github.com/kopf-wasm/kopf/artifacts/signatures"
)

// emptyRoot is a valid trusted root that trusts no authority.
const emptyRoot = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`

// repository serves a file as a repository of The Update Framework, and returns the root
// metadata.
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

// The trusted root is fetched from a repository that the built-in root metadata signs, and
// is cached.
func TestFetchOfTrustedRoot(t *testing.T) {
	url, root := repository(t, "trusted_root.json", emptyRoot)
	other, _ := repository(t, "trusted_root.json", emptyRoot)
	cache := t.TempDir()
	from := func(url, cache string) *tuf.Options {
		return tuf.DefaultOptions().WithCacheValidity(1).WithRoot(root).WithRepositoryBaseURL(url).WithCachePath(cache)
	}
	if _, err := fetch(t.Context(), from(url, cache)); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(cache, "*", "targets", "trusted_root.json")); err != nil || len(files) != 1 {
		t.Errorf("cached files %q, error %v", files, err)
	}
	const words = "fetching the trusted root of Sigstore from "
	if _, err := fetch(t.Context(), from("http://127.0.0.1:1", t.TempDir())); err == nil || !strings.Contains(err.Error(), words+"http://127.0.0.1:1") {
		t.Errorf("an unreachable repository: error %v", err)
	}
	if _, err := fetch(t.Context(), from(other, t.TempDir())); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("a repository with another signer: error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fetch(ended, from(url, t.TempDir())); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: error %v", err)
	}
}

// A trusted root that cannot be read is an error of the whole verification.
func TestTrustedRootFiles(t *testing.T) {
	for _, tt := range []struct{ name, content, words string }{
		{"text", "text", "is not JSON"},
		{"a list", "[]", "the trusted root"},
		{"another type", `{"mediaType":"x"}`, "the trusted root"},
		{"too large", strings.Repeat(" ", maxRoot) + "{}", "too much: the file has more than 8 MiB"},
	} {
		v := &Verifier{Trust: file(t, tt.content)}
		if _, err := v.VerifyCertificates(t.Context(), digest, make([]signatures.Signature, 1)); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.words)
		}
	}
	v := &Verifier{Trust: filepath.Join(t.TempDir(), "missing.json")}
	if _, err := v.VerifyCertificates(t.Context(), digest, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: error %v", err)
	}
}

// file writes a file, and returns its path.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
