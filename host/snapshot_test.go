package host

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
)

func TestClones(t *testing.T) {
	if !linear.Supported {
		t.Skip("no images on this system")
	}
	m := loadGo(t, Options{Secrets: map[string]string{"secret": "hush"}})
	if m.snapshot.Load() == nil {
		t.Fatal("no snapshot")
	}
	first, step, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
	if err != nil || string(step.Result) != "1" {
		t.Fatal(step, err)
	}
	defer first.Release(t.Context())
	for range 3 { // what one clone does is not seen by the next
		task, step, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
		if err != nil || string(step.Result) != "1" {
			t.Fatal(step, err)
		}
		defer task.Release(t.Context())
	}
	if got := len(m.pool.living); got != 4 {
		t.Errorf("%d instances", got)
	}
}

func TestRandomOfTheHostDiffersInClones(t *testing.T) {
	m := loadGo(t, Options{RetireCalls: 1})
	a, b := result(t, m, "host random", &testEnv{}), result(t, m, "host random", &testEnv{})
	if a == b {
		t.Errorf("both are %s", a)
	}
}

func TestModulesThatChangeTablesAreNotCloned(t *testing.T) {
	m, err := load(t, tableChanger().Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.snapshot.Load() != nil {
		t.Error("there is a snapshot")
	}
	result(t, m, "", &testEnv{})
}

// TestNoImages: where the system has none, each instance begins from the beginning.
func TestNoImages(t *testing.T) {
	m := loadGo(t, Options{newImage: func([]byte) (*linear.Image, error) { return nil, linear.ErrUnsupported }})
	if m.snapshot.Load() != nil {
		t.Fatal("there is a snapshot")
	}
	for range 3 {
		task, step, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
		if err != nil || string(step.Result) != "1" {
			t.Fatal(step, err)
		}
		defer task.Release(t.Context())
	}
	if got := m.Usage(); got.Living != 3 {
		t.Errorf("three handlers at once: %+v", got)
	}
}

func TestBrokenImage(t *testing.T) {
	broken := errors.New("no space left")
	_, err := Load(t.Context(), "op.wasm", asm.Guest(nil).Encode(), withCache(t, Options{
		newImage: func([]byte) (*linear.Image, error) { return nil, broken },
	}))
	if !errors.Is(err, broken) || errors.Is(err, ErrModule) || !strings.HasPrefix(err.Error(), "op.wasm: ") {
		t.Errorf("error = %v", err)
	}
}

// TestSnapshotHasNoSecrets: not even when handlers have read them before.
func TestSnapshotHasNoSecrets(t *testing.T) {
	const secret, public = "hush-4f1d", "known-97ab"
	var images [][]byte
	m := loadGo(t, Options{
		Config: map[string]string{"key": public}, Secrets: map[string]string{"secret": secret},
		newImage: func(contents []byte) (*linear.Image, error) {
			images = append(images, bytes.Clone(contents))
			return linear.NewImage(contents)
		},
	})
	if got := result(t, m, "questions", &testEnv{}); !strings.Contains(got, secret) {
		t.Fatalf("the handler did not read the secret: %s", got)
	}
	if len(images) != 1 {
		t.Fatalf("%d images", len(images))
	}
	if !bytes.Contains(images[0], []byte(public)) {
		t.Error("the configuration that registration saw is not found in the image: nor would a secret be")
	}
	if bytes.Contains(images[0], []byte(secret)) {
		t.Error("the image has the secret")
	}
}
