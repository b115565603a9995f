package recordings

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// build builds a variant of test/guests/go/random.
func build(t *testing.T, variant string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "random"+variant+".wasm")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-ldflags", "-X main.variant="+variant, "-o", out, "./random")
	cmd.Dir = filepath.Join("..", "..", "test", "guests", "go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// recordOperator runs a module on a cluster in memory until it has handled an object, and
// returns the recording.
func recordOperator(t *testing.T, module string) string {
	t.Helper()
	object := dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": "a"}, "spec": dicts.Object{"field": "value"}}
	server := apiserver.New([]apiserver.Resource{apiserver.Guessed(object)})
	if err := server.Apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	s := settings.Default()
	s.Peering.Standalone = true
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	o := operator.Options{
		Modules: []string{module}, Namespaces: []string{"default"}, Settings: s, Log: zerolog.Nop(), AllowOverlap: true,
		Host: host.Options{Config: map[string]string{"TOKEN": "top-secret"}},
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: &rest.Config{Host: "http://cluster.test", Transport: http.RoundTripper(server), QPS: -1}}, nil
		},
	}
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o, &out, 0, []string{"TOKEN"}) }() // Waited for below.
	ref := apiserver.Reference{Kind: "KopfExample", Name: "a"}
	until(ctx, t, func() bool {
		_, created := dicts.Lookup(server.Get(ref), "status", "create_fn")
		_, timed := dicts.Lookup(server.Get(ref), "status", "timer_fn")
		return created && timed
	})
	if err := server.Delete(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, func() bool { return server.Get(ref) == nil })
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// until waits for a condition.
func until(ctx context.Context, t *testing.T, met func() bool) {
	t.Helper()
	for !met() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the operator has not handled the object")
		}
	}
}

// TestModulesRepeatTheirCallsExactly: the clock, random numbers, the order of maps and sleeps
// are those of the recording.
func TestModulesRepeatTheirCallsExactly(t *testing.T) {
	module, newer := build(t, ""), build(t, "newer")
	text := recordOperator(t, module)
	if strings.Contains(text, "top-secret") {
		t.Error("the recording contains the secret")
	}
	again := func(p Program, secrets map[string]string) string {
		t.Helper()
		file, err := Read(strings.NewReader(text), secrets)
		if err != nil {
			t.Fatal(err)
		}
		report, err := p.Replay(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := report.Print(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for name, secrets := range map[string]map[string]string{"with the secret": {"TOKEN": "top-secret"}, "without it": nil} {
		if got := again(Program{}, secrets); !strings.HasSuffix(got, " calls replayed: all as recorded\n") || strings.HasPrefix(got, "0 ") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	var changed []string
	got := again(Program{Modules: []string{newer}, Changed: func(module string) { changed = append(changed, module) }}, nil)
	if !strings.HasPrefix(got, "call 1, ") || !strings.Contains(got, "variant") || len(changed) != 1 {
		t.Errorf("a newer module: changed %v\n%s", changed, got)
	}
}

// TestRecordingsNameFiles: a recording of others can name a device without an end as a module.
func TestRecordingsNameFiles(t *testing.T) {
	file := &File{Header: Header{Modules: []Module{{Name: "x", Path: os.DevNull}}}}
	if _, err := (&Program{}).Replay(t.Context(), file); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("error %v", err)
	}
}
