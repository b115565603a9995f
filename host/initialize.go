package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// initialize fills the memory and calls the initialisation exports once.
func (in *instance) initialize(ctx context.Context) error {
	for _, d := range in.m.prepared.Data {
		if !in.mod.Memory().Write(d.Offset, d.Bytes) {
			return in.m.refuse(fmt.Errorf("data at %d lies outside of the memory", d.Offset))
		}
	}
	exported := func(name string) bool { return in.mod.ExportedFunction(name) != nil }
	first := guests.Initializer{Name: prepare.Start}
	for _, init := range append([]guests.Initializer{first}, in.guest.Initializers(exported)...) {
		if !exported(init.Name) {
			continue
		}
		c := in.newCall(ctx, init.Name, nil)
		c.registering = true
		if _, err := c.Run(init.Name, init.Params...); err != nil {
			return err
		}
	}
	return in.register(ctx)
}

// register asks for the registration. Every instance is asked, because it may keep its
// declarations in memory. All answers must be equal.
func (in *instance) register(ctx context.Context) error {
	request, err := json.Marshal(abi.RegisterRequest{ABI: abi.Version, Host: in.m.options.HostName, Config: in.m.options.Config})
	if err != nil {
		return fmt.Errorf("request for %s: %w", abi.ExportRegister, err)
	}
	c := in.newCall(ctx, abi.ExportRegister, nil)
	c.registering = true
	data, err := c.exchange(guests.Message{Text: request})
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // the context cut the guest's sleeps short, and the guest continued
		return c.Fail(&guests.Stopped{Err: context.Cause(ctx)})
	}
	switch {
	case in.m.registered == nil:
		in.m.registered = append([]byte{}, data...)
	case string(in.m.registered) != string(data):
		return c.Fail(fmt.Errorf("%w: the registration differs from that of another instance: %s", ErrMessage, firstDifference(in.m.registered, data)))
	}
	return nil
}

// firstDifference shows where two texts begin to differ.
func firstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return strconv.Quote(string(a[i:min(i+40, len(a))])) + " and " + strconv.Quote(string(b[i:min(i+40, len(b))]))
}
