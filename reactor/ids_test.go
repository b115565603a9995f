package reactor

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// Retries of handlers are lost if no annotation can have their ids. An author would see only that nothing is retried.
func TestIDsThatNoAnnotationCanHave(t *testing.T) {
	r := &registries.Registry{}
	for _, id := range []string{"createFn", "fn/spec.field", "a.b-c_d", strings.Repeat("long/", 40) + "id", "_private", "_private", "bad id!", "ü", "<lambda>"} {
		r.Changing = append(r.Changing, &registries.Handler{ID: id})
	}
	for name, tt := range map[string]struct {
		progress stores.ProgressStorage
		want     []string
	}{
		"by default":    {settings.Default().Persistence.Progress, []string{"'_private'", "'bad id!'", "'ü'", "'<lambda>'"}},
		"in the status": {stores.NewStatusProgress(stores.StatusProgressOptions{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			op := &Operator{Options: Options{Settings: settings.Default()}}
			op.Settings.Persistence.Progress = tt.progress
			op.warnOfIDs(r, zerolog.New(&out))
			if got := strings.Count(out.String(), "\n"); got != len(tt.want) {
				t.Errorf("%d warnings, want %d:\n%s", got, len(tt.want), &out)
			}
			for _, id := range tt.want {
				if !strings.Contains(out.String(), "The progress of handler "+id+" cannot be stored") {
					t.Errorf("no warning of %s in\n%s", id, &out)
				}
			}
		})
	}
}
