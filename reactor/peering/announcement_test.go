package peering

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Without a kubeconfig, kopf freeze said that login handlers return no credentials, of which it has none.
func TestAnnouncementsNeedACluster(t *testing.T) {
	none := credentials.HostLogin{Name: "kubeconfig", Get: func(context.Context) (*credentials.Info, error) { return nil, nil }}
	err := Announce(t.Context(), Announcement{Logins: []credentials.HostLogin{none}, Name: "default", Lifetime: time.Minute, Log: zerolog.Nop()})
	if !errors.Is(err, credentials.ErrNone) {
		t.Errorf("got the error %v, want %v", err, credentials.ErrNone)
	}
}
