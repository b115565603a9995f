package processing

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

func TestLargeObjectsAreRefusedInTime(t *testing.T) {
	tests := []struct {
		name    string
		size    int
		storage string
		fails   bool
	}{
		{"small", 1000, "annotations", false},
		{"just fits", 200_000, "annotations", false},
		{"too large", 900_000, "annotations", true},
		{"large, in the status", 900_000, "status", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Repeat("x", tt.size)
			large := dicts.Object{"spec": dicts.Object{"text": text}}
			seen := handling.NewCause(&handling.Object{Raw: []byte(text), Body: large}, &handling.Change{Reason: causes.Create, New: large})
			config := settings.Default()
			for _, name := range []string{"persistence.progress_storage", "persistence.diffbase_storage"} {
				if err := config.Set(name, fmt.Appendf(nil, `{"type":%q}`, tt.storage)); err != nil {
					t.Fatal(err)
				}
			}
			p := &Processor{Settings: config}
			err := p.checkFits(seen, progression.State{}.WithHandlers([]string{"fn"}, time.Now()))
			if (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "status") {
				t.Errorf("the cure is not named: %v", err)
			}
		})
	}
}

func TestStateThatIsAlwaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		essence := dicts.Object{"spec": dicts.Object{"x": 1}}
		seen := handling.NewCause(&handling.Object{Body: essence, Log: loggers.Logger{Logger: new(zerolog.New(&said))}}, &handling.Change{Reason: causes.Create, New: essence})
		guard := &stateLoss{}
		handled := func() bool {
			if guard.isEndless(seen) {
				return false
			}
			guard.stored(essence)
			return true
		}
		for i := range 4 {
			if !handled() {
				t.Fatalf("creation %d is not handled", i+1)
			}
		}
		for range 10 {
			if handled() {
				t.Fatal("it goes on for ever")
			}
		}
		if n := strings.Count(said.String(), "always removes"); n != 1 {
			t.Errorf("said %d times", n)
		}
		seen.Change().New = dicts.Object{"spec": dicts.Object{"x": 2}}
		if !handled() {
			t.Error("a changed object is not handled")
		}
		seen.Change().New = essence
		time.Sleep(2 * time.Minute)
		if !handled() {
			t.Error("an object that was left alone is not handled")
		}
	})
}
