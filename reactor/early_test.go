package reactor

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// TestClientsBeforeTheLogin: if login handlers choose the credentials, startup handlers must not use those of the host. Otherwise the host
// logs in at the first request only.
func TestClientsBeforeTheLogin(t *testing.T) {
	for _, guest := range []guests.Guest{&tidy{}, &patient{}} {
		registry, err := registries.New(guest)
		if err != nil {
			t.Fatal(err)
		}
		logins := 0
		host := credentials.HostLogin{Name: "host", Get: func(context.Context) (*credentials.Info, error) {
			logins++
			return nil, nil
		}}
		op, err := New(Options{Registry: registry, Logins: []credentials.HostLogin{host}, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if op.connected() != nil {
			t.Errorf("%T: a client before the startup handlers", guest)
		}
		op.early = op.beforeLogin(t.Context())
		client := op.connected()
		if _, chooses := guest.(*patient); (client == nil) != chooses {
			t.Errorf("%T: client %v", guest, client)
		}
		if client == nil {
			continue
		}
		if _, err := client.Get(t.Context(), "/version", nil); err == nil || logins != 1 {
			t.Errorf("error %v, after %d logins", err, logins)
		}
	}
}
