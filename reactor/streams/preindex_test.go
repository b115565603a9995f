package streams

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestMoreObjectsThanRoomAreIndexed: the bodies of objects that are indexed wait for the others, and take the room for these.
func TestMoreObjectsThanRoomAreIndexed(t *testing.T) {
	for name, limit := range map[string]string{"any number of workers": "null", "one worker": "1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := newNoting()
				s := newScene(t, stocked(3), guest)
				s.Settings = reactortest.SettingsWith(t, map[string]string{"queueing.worker_limit": limit})
				s.Account = accounts.New(accounts.Limits{PendingMemory: len(reactortest.NewObject(1)) + 1000}) // for one of them
				e, leave := s.Generations.Present(), s.serve(t)
				time.Sleep(time.Minute)
				synctest.Wait()
				if pairs := e.Services.Indices.Len(); pairs != 3 || !e.Indexed.IsOpen() {
					t.Errorf("%d objects are indexed; all are: %t", pairs, e.Indexed.IsOpen())
				}
				if want := slices.Repeat([]string{"listed"}, 3); !slices.Equal(guest.types, want) {
					t.Errorf("the events are %v", guest.types)
				}
				leave()
			})
		})
	}
}
