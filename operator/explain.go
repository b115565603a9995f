package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator/explanation"
	"github.com/kopf-wasm/kopf/reactor/activities"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// ErrNoObject says that the object to explain does not exist, or that its resource does not.
var ErrNoObject = errors.New("no such object")

// Explain says what the modules would do about an object, and why. It runs their startup
// handlers once, without requests, because these may change the settings.
//
// Errors: ErrNoObject; a module or a setting that an operator would not accept; errors of the
// cluster.
//
// See docs/troubleshooting.md.
func Explain(ctx context.Context, modules []*host.Module, own *settings.Settings, s Subject) (*explanation.Explanation, error) {
	all := make([]guests.Guest, len(modules))
	for i, module := range modules {
		all[i] = guest{module}
	}
	if err := checkTogether(all); err != nil {
		return nil, err
	}
	registry, err := registries.New(all...)
	if err != nil {
		return nil, err
	}
	log := zerolog.Nop()
	registry.Bind(ctx, log, func() {}, handling.AskForResource(&log))
	if own == nil {
		own = settings.Default()
	}
	own = own.Clone()
	notes := configure(ctx, registry, own)
	found, err := s.find(ctx, own)
	if err != nil {
		return nil, err
	}
	result, err := explanation.Explain(ctx, explanation.Question{Registry: registry, Settings: own, Resource: found.resource, Raw: found.raw, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	result.Peers, result.Notes = found.peers, append(append(notes, found.notes...), result.Notes...)
	return result, nil
}

// startupTime limits the startup handlers, which may wait for what they do not get here.
const startupTime = 30 * time.Second

// configure runs the startup handlers once. What they cannot do without requests is noted.
func configure(ctx context.Context, r *registries.Registry, own *settings.Settings) (notes []string) {
	if len(r.Activities[abi.KindStartup]) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startupTime)
	defer cancel()
	services := &handling.Services{Base: memos.New(nil, nil), Account: accounts.New(accounts.Limits{}), Indices: indexing.New(registries.IDs(r.Indexing), nil)}
	startup := &activities.Activity{Kind: abi.KindStartup, Handlers: r.Activities[abi.KindStartup], Settings: own, Services: services, Log: zerolog.Nop()}
	done, err := startup.RunOnce(ctx)
	if err == nil {
		_, err = own.SetByGuest(done.Settings, nil)
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("The startup handlers run without requests here, and have failed, so settings that they change are unknown: %v", err))
	}
	return notes
}
