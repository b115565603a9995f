package operator

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
)

// changing is an operator whose module is another one each time that it is read. The function is Options.Loaded, and gets the number of
// times so far.
func changing(t *testing.T, loaded func(opened int)) *Operator {
	t.Helper()
	wasm, err := base64.StdEncoding.DecodeString(talker)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	op, err := New(t.Context(), Options{
		Modules: []string{"aa.wasm"}, Log: zerolog.Nop(), Host: host.Options{CacheDir: t.TempDir()}, Loaded: func() { loaded(opened) },
		Open: func(_ context.Context, name string) (string, []byte, error) {
			opened++
			return name, bytes.ReplaceAll(wasm, []byte(`"id":"fn"`), []byte(`"id":"f`+strconv.Itoa(opened)+`"`)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// TestAReloadThatEndsAfterTheOperator: the operator is closed after the reactor has taken the new modules, and before the operator
// has. Then only Reload can close them.
func TestAReloadThatEndsAfterTheOperator(t *testing.T) {
	op := changing(t, nil)
	before := op.loaded()
	after, err := loadAll(t.Context(), op.options.source(), op.options.Modules, op.options.Host, before)
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	close(left)
	if err := op.adopt(t.Context(), after, without(after, before), without(before, after), left); !errors.Is(err, ErrNotServing) {
		t.Errorf("the new modules are taken: %v", err)
	}
	op.closing.Wait()
	if len(op.living) != 0 {
		t.Errorf("%d modules are left", len(op.living))
	}
	if err := after[0].module.Close(t.Context()); err != nil { // as Reload does
		t.Error(err)
	}
}

// TestReloadsSayWhenTheModulesAreLoaded: before the startup handlers run, which may take as long as they like.
func TestReloadsSayWhenTheModulesAreLoaded(t *testing.T) {
	loaded := 0
	op := changing(t, func(opened int) { loaded = opened })
	if _, err := op.Reload(t.Context()); !errors.Is(err, ErrNotServing) || loaded != 2 {
		t.Errorf("error %v, after %d modules", err, loaded)
	}
	if err := op.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReplacedModulesCountUntilTheyAreClosed: as long as something of their generation is left.
func TestReplacedModulesCountUntilTheyAreClosed(t *testing.T) {
	op := changing(t, nil)
	before := op.loaded()
	after, err := loadAll(t.Context(), op.options.source(), op.options.Modules, op.options.Host, before)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	if n := op.Replaced(); n != 0 {
		t.Errorf("%d modules are replaced at first", n)
	}
	if err := op.adopt(t.Context(), after, without(after, before), without(before, after), left); err != nil {
		t.Fatal(err)
	}
	if n := op.Replaced(); n != 1 {
		t.Errorf("%d modules are replaced", n)
	}
	close(left)
	op.closing.Wait()
	if n := op.Replaced(); n != 0 {
		t.Errorf("%d modules are replaced in the end", n)
	}
	if err := op.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
