package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// handlers is a registration of handlers of one resource, each with more options.
func handlers(count int, id, options string) []byte {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(`{"kind":"event","id":"%x%s","resource":{"args":["p"]}%s}`, i, id, options)
	}
	return []byte(`{"handlers":[` + strings.Join(all, ",") + `]}`)
}

// list is a text with numbers, which are separated by commas.
func list(count int, format string) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

// TestRegistrationsAreChargedInFull: what an operator makes of its registration is many times as large as the text.
func TestRegistrationsAreChargedInFull(t *testing.T) {
	for name, text := range map[string][]byte{
		"many handlers": handlers(9999, "", ""),
		"many labels":   handlers(9999, "", `,"labels":{`+list(10, `"%x":""`)+`}`),
		"long names":    handlers(9999, strings.Repeat("x", 700), ""),
		"one handler":   handlers(1, "", `,"labels":{`+list(190_000, `"%x":""`)+`}`),
		"fields":        handlers(1000, "", `,"field":[`+list(150, `"a%d"`)+`]`),
	} {
		t.Run(name, func(t *testing.T) {
			before := int64(boundedtest.InUse())
			r, err := registration.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			op, err := New(t.Context(), Options{Guests: []guests.Guest{&guesttest.Guest{Handlers: r.Handlers}}, Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			taken, charged := int64(boundedtest.InUse())-before+int64(len(text)), registration.Size(text, r)
			if charged < taken || charged > 5*taken {
				t.Errorf("%d bytes are charged for %d", charged, taken)
			}
			runtime.KeepAlive(r)
			if err := op.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestConfigurationIsCharged: authors choose its size. A value that several keys have is there once.
func TestConfigurationIsCharged(t *testing.T) {
	tenant := &Tenant{Budget: NewBudget(1 << 30)}
	sizeOf := func(config, secrets map[string]string) int64 {
		o := Options{Guests: []guests.Guest{&guesttest.Guest{}}, Tenant: tenant, Log: zerolog.Nop()}
		o.Host.Config, o.Host.Secrets = config, secrets
		op, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = op.Close(t.Context()) }() // what is left is looked at
		return tenant.Memory()
	}
	const size = 1 << 20
	large, none := strings.Repeat("x", size), sizeOf(nil, nil)
	for name, tt := range map[string]struct {
		config, secrets map[string]string
		want            int64
	}{
		"configuration": {map[string]string{"a": large}, nil, size},
		"a secret":      {nil, map[string]string{"a": large, "b": large}, size},
		"both":          {map[string]string{"a": strings.Repeat("y", size)}, map[string]string{"b": large}, 2 * size},
	} {
		if more := sizeOf(tt.config, tt.secrets) - none; more < tt.want || more > tt.want+1000 {
			t.Errorf("%s: %d bytes more are charged, want %d", name, more, tt.want)
		}
	}
	if left := tenant.Memory(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestOperatorsEndWithoutMemoryForObjects: no object may be lost, and what the operators of one tenant know must not take the memory of
// others.
func TestOperatorsEndWithoutMemoryForObjects(t *testing.T) {
	for objects, enough := range map[int]bool{500: true, 3000: false} {
		synctest.Test(t, func(t *testing.T) {
			server, tenant := apiserver.New([]apiserver.Resource{apiserver.Guessed(numbered(0))}), &Tenant{Budget: NewBudget(3 << 20)}
			for i := range objects {
				if err := server.Apply(t.Context(), numbered(i)); err != nil {
					t.Fatal(err)
				}
			}
			guest := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindEvent, "fn", "")}}
			op, err := New(t.Context(), inMemory(server, Options{Guests: []guests.Guest{guest}, Tenant: tenant}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			op.Start(ctx, func(err error) { ended <- err })
			time.Sleep(time.Minute)
			if held := tenant.Memory(); enough && held < int64(objects)<<10 {
				t.Errorf("%d objects: %d bytes are charged", objects, held)
			}
			stop()
			var scarce *BudgetError
			if err := <-ended; errors.As(err, &scarce) == enough {
				t.Errorf("%d objects: it has ended with %v", objects, err)
			}
			if left := tenant.Memory(); left != 0 {
				t.Errorf("%d objects: %d bytes are left", objects, left)
			}
		})
	}
}

// numbered is an object.
func numbered(i int) dicts.Object {
	return dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": fmt.Sprint("object-", i)}}
}

// TestDefectsLeaveNoCharge: an operator that is not made has nothing of the memory that tenants share, also after a panic of the host.
func TestDefectsLeaveNoCharge(t *testing.T) {
	tenant := &Tenant{Budget: NewBudget(1 << 30)}
	var err error
	func() {
		defer panics.Recover(&err)
		_, _ = New(t.Context(), Options{Modules: []string{"a.wasm"}, Tenant: tenant, Log: zerolog.Nop(), Open: func(context.Context, string) (string, []byte, error) {
			panic("about the module")
		}})
	}()
	if held := tenant.Memory(); held != 0 || panics.StackOf(err) == "" {
		t.Errorf("%d bytes are held after %v", held, err)
	}
}
