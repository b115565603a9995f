package activities

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestLoggersOfActivities: as in Kopf, each activity has a logger of its own, by which people filter the lines.
func TestLoggersOfActivities(t *testing.T) {
	for kind, want := range map[abi.Kind]string{abi.KindStartup: "kopf.activities.startup", abi.KindLogin: "kopf.activities.authentication"} {
		h := reactortest.HandlerOf(t, &reactortest.Scripted{}, fmt.Sprintf(`{"kind":%q,"id":"fn"}`, kind))
		e, err := generations.New(0, &registries.Registry{}, handling.Services{Account: accounts.New(accounts.Limits{})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		a := &Activity{Kind: kind, Handlers: []*registries.Handler{h}, Settings: settings.Default(), Services: e.Services, Log: zerolog.New(&log)}
		if _, err := a.Run(t.Context()); err != nil || !strings.Contains(log.String(), `"logger":"`+want+`"`) {
			t.Errorf("%s: the error is %v, and the log %s", kind, err, &log)
		}
	}
}
