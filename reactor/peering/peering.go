package peering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/peers"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// withdrawalTimeout limits the last request of an operator that exits.
const withdrawalTimeout = 5 * time.Second

// notice is what an operator writes into a peering object.
type notice struct {
	client    *clients.Client
	resource  selectors.Resource
	namespace string // empty: the object is cluster-scoped
	name      string
}

// write writes records into the object, and removes those that are nil. Found is false if
// the object does not exist.
func (n notice) write(ctx context.Context, records map[string]*peers.Record) (found bool, err error) {
	subresource := ""
	if slices.Contains(n.resource.Subresources, "status") {
		subresource = "status"
	}
	path, err := n.resource.URL(n.namespace, n.name, subresource)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(map[string]any{"status": records})
	if err != nil {
		return false, err
	}
	_, err = n.client.Patch(ctx, path, clients.MergePatch, body)
	if code, ok := clients.Code(err); ok && code == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// touch writes the operator's record; a lifetime of 0 withdraws it.
func (n notice) touch(ctx context.Context, identity string, priority int, lifetime time.Duration) (found bool, err error) {
	now := time.Now().UTC()
	peer := peers.Peer{Identity: identity, Priority: priority, Lifetime: lifetime.Truncate(time.Second), LastSeen: now}
	record := peer.Record()
	records := map[string]*peers.Record{identity: &record}
	if peer.Dead(now) {
		records[identity] = nil
	}
	return n.write(ctx, records)
}

// Peering announces the operator in one peering object, and makes it pause when a
// peer's record demands it.
//
// Kopf: kopf._core.engines.peering (v1.45).
type Peering struct {
	notice
	identity string
	settings *settings.Peering
	stream   *watching.Stream
	states   *watching.Set
	pauses   *pauses.Pauses
	reason   pauses.Reason
	log      zerolog.Logger
	sharded  bool // operators with the same priority share the objects, and do not pause for each other

	objects chan peeringState // the newest state; capacity 1
	known   string            // the key of the object: see watching.Meta; empty: it does not exist; only the stream uses it
}

// peeringState is the known state of a peering object.
type peeringState struct {
	object []byte // the last received object; nil: nothing new
	gone   bool   // whether the object has been deleted
}

// Options configure a Peering.
type Options struct {
	Client    *clients.Client
	Settings  *settings.Settings   // name the peering object
	Dimension dimensions.Dimension // of the peering object
	Identity  string               // the name of the operator among its peers
	Pauses    *pauses.Pauses
	States    *watching.Set   // gets the stream that watches the object
	Source    watching.Source // of the watch; nil: a connection of its own
	Log       zerolog.Logger
}

// New makes a Peering.
//
// Errors: the dimension has no URL.
func New(o Options) (*Peering, error) {
	r, s, log := o.Dimension.Resource, o.Settings, o.Log
	path, err := r.URL(o.Dimension.Namespace, "", "")
	if err != nil {
		return nil, err
	}
	return &Peering{
		notice:   notice{o.Client, r, o.Dimension.Namespace, s.Peering.Name},
		identity: o.Identity,
		settings: &s.Peering,
		stream: &watching.Stream{
			Client: o.Client, Path: path, APIVersion: r.APIVersion(), Kind: r.Kind, Source: o.Source,
			Options: func() watching.Options { return watching.OptionsOf(s) },
			Log:     func(level int, message string) { log.WithLevel(loggers.ZerologLevel(level)).Msg(message) },
		},
		states:  o.States,
		pauses:  o.Pauses,
		reason:  pauses.Reason{Peering: o.Dimension.Key()},
		log:     log,
		sharded: !s.Watching.ShardSelectors.Empty(),
		objects: make(chan peeringState, 1),
	}, nil
}

// Run announces the operator until the context ends. It then withdraws the operator's
// record.
func (p *Peering) Run(ctx context.Context) {
	p.pauses.Set(p.reason, p.settings.Mandatory) // until the object is seen
	var parts sync.WaitGroup
	parts.Go(func() { p.keepAlive(ctx) })
	parts.Go(func() { p.follow(ctx) })
	p.states.Supervise(ctx, &watching.Supervised{Stream: p.stream, Resource: p.resource.String(), Namespace: p.namespace, Purpose: watching.ForPeers}, func() {
		_ = p.stream.Run(ctx, p) // it ends with the context only
	})
	parts.Wait()
	p.pauses.Set(p.reason, false)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawalTimeout)
	defer cancel()
	if err := p.tell(last, 0); err != nil {
		p.log.Error().Msg(fmt.Sprintf("Couldn't remove self from the peering. Ignoring: %v", err))
	}
}

// keepAlive renews the operator's record a little before it expires.
func (p *Peering) keepAlive(ctx context.Context) {
	for ctx.Err() == nil {
		jitter := peers.MinJitter + rand.N(peers.MaxJitter-peers.MinJitter)
		pause := peers.KeepAlive(p.settings.Lifetime, jitter)
		if err := p.tell(ctx, p.settings.Lifetime); err != nil && ctx.Err() == nil {
			p.log.Error().Msg(fmt.Sprintf("Keep-alive in %s %s: failed, will be repeated: %v", loggers.Quote(p.name), loggers.Scope(p.namespace), err))
			pause = min(pause, peers.MinJitter)
		}
		_ = backoffs.Pause(ctx, pause) // the loop checks the context
	}
}

// tell writes the operator's record.
func (p *Peering) tell(ctx context.Context, lifetime time.Duration) error {
	found, err := p.touch(ctx, p.identity, p.settings.Priority, lifetime)
	if err != nil {
		return err
	}
	if !found || !p.settings.Stealth {
		p.log.Debug().Msg(fmt.Sprintf("Keep-alive in %s %s: %s.", loggers.Quote(p.name), loggers.Scope(p.namespace), foundOrNot(found)))
	}
	return nil
}

func foundOrNot(found bool) string {
	if found {
		return "ok"
	}
	return "not found"
}

// Event stores the newest state of the operator's peering object, and ignores other
// objects. A deletion that the watch has missed has no state; the last known state then
// counts. It may come after the creation of another object with the same name.
func (p *Peering) Event(event watching.Event) {
	key, gone := event.Meta.Key(), event.Type == watching.Deleted
	if event.Meta.Name != p.name || gone && p.known != "" && p.known != key {
		return
	}
	if p.known = key; gone {
		p.known = ""
	}
	next := peeringState{event.Object, gone}
	if next.gone {
		if all, _ := peers.ParseObject(event.Object, time.Now()); len(all) == 0 {
			next.object = nil
		}
	}
	select {
	case last := <-p.objects: // an older state is no longer needed
		if next.object == nil {
			next.object = last.object
		}
	default:
	}
	p.objects <- next // does not block: only this goroutine writes
}

// Listed logs what an operator with mandatory peering waits for.
func (p *Peering) Listed() {
	if p.known == "" && p.settings.Mandatory {
		p.log.Warn().Msg(fmt.Sprintf("The peering object %s is absent %s. Waiting for it.", loggers.Quote(p.name), loggers.Scope(p.namespace)))
	}
}

// follow evaluates the peers whenever the object changes, and when the records that cause
// the pause expire. If the object is deleted, the operator keeps pausing or working: peers
// may live, but can no longer announce themselves.
func (p *Peering) follow(ctx context.Context) {
	expiry := time.NewTimer(0)
	expiry.Stop()
	defer expiry.Stop()
	var object []byte
	gone := false
	for {
		select {
		case next := <-p.objects:
			if object, gone = next.object, next.gone; gone {
				p.log.Warn().Msg(fmt.Sprintf("The peering object %s is deleted %s. The peers are unknown until it is there again.", loggers.Quote(p.name), loggers.Scope(p.namespace)))
			}
		case <-expiry.C:
		case <-ctx.Done():
			return
		}
		expiry.Stop()
		if object == nil {
			continue
		}
		if until := p.judge(ctx, object); !until.IsZero() && !gone {
			expiry.Reset(time.Until(until))
		}
	}
}

// judge evaluates the peers, pauses or resumes the operator, and removes expired records.
// It returns when to repeat this without a change; zero: never.
//
// Kopf: kopf._core.engines.peering.process_peering_event (v1.45).
func (p *Peering) judge(ctx context.Context, object []byte) time.Time {
	now := time.Now()
	all, failures := peers.ParseObject(object, now)
	if len(failures) == 1 && errors.Is(failures[0], peers.ErrTooMany) {
		p.log.Warn().Msg(fmt.Sprintf("The peering object %s is ignored %s: %v", loggers.Quote(p.name), loggers.Scope(p.namespace), failures[0]))
		return time.Time{}
	}
	for _, err := range failures {
		p.log.Warn().Msg(fmt.Sprintf("A peer in %s is ignored: %v", loggers.Quote(p.name), err))
	}
	verdict := peers.Judge(all, p.identity, p.settings.Priority, now)
	p.clean(ctx, verdict.Dead)
	if p.sharded {
		verdict.Same = nil
	}
	if len(verdict.Prior) == 0 && len(verdict.Same) > 0 {
		p.log.Warn().Msg(fmt.Sprintf("Possibly conflicting operators with the same priority: %v.", verdict.Same))
	}
	switch changed := p.pauses.Set(p.reason, verdict.Pauses()); {
	case !changed:
	case len(verdict.Prior) > 0:
		p.log.Info().Msg(fmt.Sprintf("Pausing operations in favour of %v.", verdict.Prior))
	case verdict.Pauses():
		p.log.Warn().Msg(fmt.Sprintf("Pausing all operators, including self: %v", all))
	default:
		p.log.Info().Msg("Resuming operations after the pause. Conflicting operators with the same priority are gone.")
	}
	return verdict.Until()
}

// clean removes the records of dead peers. A failure has no consequences.
func (p *Peering) clean(ctx context.Context, dead peers.Peers) {
	if len(dead) == 0 {
		return
	}
	records := map[string]*peers.Record{}
	for _, peer := range dead {
		records[peer.Identity] = nil
	}
	if _, err := p.write(ctx, records); err != nil && ctx.Err() == nil {
		p.log.Warn().Msg(fmt.Sprintf("Couldn't remove the dead peers from %s: %v", loggers.Quote(p.name), err))
	}
}
