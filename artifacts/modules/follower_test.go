package modules_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// following is a follower of a tag, with its results.
type following struct {
	*modules.Follower
	*ocitest.Registry
	name string

	mu     sync.Mutex
	refuse error    // of what is reloaded
	taken  []string // contents
	logged []string
}

func follow(t *testing.T, verify func(ctx context.Context, r oci.Reference) error) *following {
	t.Helper()
	f := &following{Registry: ocitest.New(t)}
	finder := finder(t)
	finder.Verify = verify
	tell := func(text string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.logged = append(f.logged, text)
	}
	f.Follower = &modules.Follower{Finder: finder, Every: 5 * time.Millisecond, Info: tell, Warn: tell}
	f.Reload = func(ctx context.Context) error {
		found, err := f.Open(ctx, f.name)
		f.mu.Lock()
		defer f.mu.Unlock()
		if err == nil && f.refuse == nil {
			f.taken = append(f.taken, string(found.Module[8:]))
		}
		return errors.Join(err, f.refuse)
	}
	f.Pack(t, "v1", wasm("first"))
	f.name = f.Ref("v1").String()
	found, err := f.Open(t.Context(), f.name)
	if err != nil || string(found.Module[8:]) != "first" {
		t.Fatalf("%v, %v", found, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return f
}

// with changes the error of reloads.
func (f *following) with(refuse error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

// until waits for a version that was taken, or for a logged text, and returns all of them.
func (f *following) until(t *testing.T, what, words string) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		f.mu.Lock()
		all := append([]string(nil), map[string][]string{"taken": f.taken, "logged": f.logged}[what]...)
		f.mu.Unlock()
		if strings.Contains(strings.Join(all, "\n"), words) {
			return all
		}
	}
	t.Fatalf("%q is not %s: %q, %q", words, what, f.taken, f.logged)
	return nil
}

// A tag that moves is followed and logged, once per version.
func TestFollow(t *testing.T) {
	f := follow(t, nil)
	second := f.Pack(t, "v1", wasm("second"))
	f.until(t, "logged", "Running "+f.name+"@"+second+".")
	time.Sleep(50 * time.Millisecond)
	f.Pack(t, "v1", wasm("third"))
	if taken := f.until(t, "taken", "third"); strings.Join(taken, " ") != "second third" {
		t.Errorf("taken: %q", taken)
	}
}

// A version that cannot be taken is logged once, and the old one continues; when the tag moves on, or it
// can be taken, it is.
func TestFollowRefused(t *testing.T) {
	f := follow(t, nil)
	f.with(errors.New("it wants too much"))
	bad := f.Pack(t, "v1", wasm("bad"))
	f.until(t, "logged", "A new version was refused")
	time.Sleep(100 * time.Millisecond)
	if logged := f.until(t, "logged", bad+": it wants too much"); len(logged) != 2 { // the first one is what runs
		t.Errorf("logged: %q", logged)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		found, err := f.Open(t.Context(), f.name)
		if err == nil && string(found.Module[8:]) == "first" {
			break
		}
		if err != nil || time.Now().After(deadline) { // the new one is opened while it is tried
			t.Fatalf("%v, %v", found, err)
		}
	}
	f.with(nil)
	f.until(t, "taken", "bad") // it is tried again
	f.with(errors.New("it wants too much"))
	f.Pack(t, "v1", wasm("worse"))
	f.until(t, "logged", "it wants too much")
	f.with(nil)
	f.Pack(t, "v1", wasm("good"))
	if taken := f.until(t, "taken", "good"); taken[0] != "bad" {
		t.Errorf("taken: %q", taken)
	}
}

// A version whose signatures come later is taken then; what was verified is not verified
// again, so what runs does not need the registry.
func TestFollowVerified(t *testing.T) {
	var mu sync.Mutex
	signed, asked := map[string]bool{}, map[string]int{}
	f := follow(t, func(_ context.Context, r oci.Reference) error {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Digest]++
		if len(asked) > 1 && !signed[r.Digest] {
			return errors.New("it is not signed")
		}
		return nil
	})
	second := f.Pack(t, "v1", wasm("second"))
	f.until(t, "logged", "it is not signed")
	mu.Lock()
	signed[second] = true
	mu.Unlock()
	f.until(t, "taken", "second")
	f.Override(func(w http.ResponseWriter, r *http.Request) { ocitest.Refuse(http.StatusForbidden)(w, r) })
	if _, err := f.Open(t.Context(), f.name); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for digest, n := range asked {
		if digest != second && n != 1 {
			t.Errorf("%s was verified %d times", digest, n)
		}
	}
}

// A registry that is unavailable for a while changes nothing, and is logged once.
func TestFollowWithoutRegistry(t *testing.T) {
	for name, how := range map[string]http.HandlerFunc{
		"403": ocitest.Refuse(http.StatusForbidden), "404": ocitest.Refuse(http.StatusNotFound),
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("nonsense")) },
	} {
		t.Run(name, func(t *testing.T) {
			f := follow(t, nil)
			f.Override(how)
			f.Pack(t, "v1", wasm("second"))
			f.until(t, "logged", "Checking for a new version failed")
			time.Sleep(50 * time.Millisecond)
			if logged := f.until(t, "logged", f.name); len(logged) != 2 {
				t.Errorf("logged: %q", logged)
			}
			f.Override(func(http.ResponseWriter, *http.Request) {})
			f.until(t, "taken", "second")
		})
	}
}

func TestFollowable(t *testing.T) {
	for name, want := range map[string]bool{
		"oci://example.com/op:v1": true, "operator.wasm": false, "oci://example.com/op": false,
		"oci://example.com/op:v1@sha256:" + strings.Repeat("0a", 32): false, "oci://example.com/op@sha256:" + strings.Repeat("0a", 32): false,
	} {
		if got := modules.Followable(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A registry moves its tag as often as it likes, to versions that are taken, or refused. The store keeps the running
// version, the newest one, and what was pulled before.
func TestFollowedVersionsDoNotFillTheStore(t *testing.T) {
	f := follow(t, nil)
	entries := func() int {
		t.Helper()
		all, err := f.Finder.Store.List()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := entries()
	for i := range 6 {
		content := fmt.Sprintf("version %d", i)
		if i == 4 {
			f.with(errors.New("no"))
		}
		digest := f.Pack(t, "v1", wasm(content))
		if i < 4 {
			f.until(t, "taken", content)
			f.until(t, "logged", "Running "+f.Ref("v1").String()+"@"+digest)
		} else {
			f.until(t, "logged", digest+": no")
		}
	}
	for deadline := time.Now().Add(time.Minute); entries() > before+2 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if n := entries(); n > before+2 {
		t.Errorf("the store has %d references, and had %d", n, before)
	}
	if blobs, err := os.ReadDir(filepath.Join(f.Finder.Store.Dir(), "blobs", "sha256")); err != nil || len(blobs) > 3*(before+2) {
		t.Errorf("the store has %d blobs (%v)", len(blobs), err)
	}
	if _, err := f.Finder.Store.Find(strings.TrimPrefix(f.name, oci.Scheme)); err != nil {
		t.Errorf("what was pulled before is gone: %v", err)
	}
}
