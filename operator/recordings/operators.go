package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// exactly lets each call begin with the state after the registration of its module: what one
// call leaves in the memory of an instance does not reach another one, so that a replay needs
// no earlier calls.
func exactly(o *host.Options) { o.Surrounded, o.RetireCalls, o.SharedTasks = true, 1, 1 }

var errReloads = errors.New("an operator whose modules are replaced cannot be recorded")

// Run runs an operator as operator.Run does, and records it. The recording has at most a number
// of bytes (0: DefaultLimit). The secrets are names among Options.Host.Config.
//
// Errors: those of operator.Run, and of the writer.
func Run(ctx context.Context, o operator.Options, to io.Writer, limit int, secrets []string) error {
	if o.Reload || o.Program != nil {
		return errReloads
	}
	header, err := headerOf(ctx, &o, secrets)
	if err != nil {
		return err
	}
	hidden := map[string]string{}
	for _, name := range secrets {
		hidden[name] = o.Host.Config[name]
	}
	r, err := NewRecorder(to, *header, limit, hidden)
	if err != nil {
		return fmt.Errorf("the recording: %w", err)
	}
	border := r.Border()
	o.Wrap = border.Guest
	exactly(&o.Host)
	err = operator.Run(border.Surrounded(ctx), o)
	if broken := r.Close(); broken != nil {
		err = errors.Join(err, fmt.Errorf("the recording: %w", broken))
	}
	return err
}

// headerOf loads the modules to describe them.
func headerOf(ctx context.Context, o *operator.Options, secrets []string) (*Header, error) {
	h := &Header{Kopf: o.Host.HostName, Config: maps.Clone(o.Host.Config)}
	for _, name := range secrets {
		h.Config[name] = placeholder(name, 0)
	}
	modules, err := operator.LoadFrom(ctx, operator.Source{Open: o.Open, Engine: o.Engine, Python: o.Python}, o.Modules, o.Host)
	if err != nil {
		return nil, err
	}
	for i, module := range modules {
		m := Module{Name: module.Name(), Path: o.Modules[i], Digest: module.Digest()}
		for _, handler := range module.Registration().Handlers {
			m.Handlers = append(m.Handlers, handler.ID)
		}
		h.Modules = append(h.Modules, m)
		if h.Operator == "" {
			h.Operator = module.Registration().Operator.Name
		}
		if err := module.Close(ctx); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Program is what a replay runs.
type Program struct {
	Source  operator.Source
	Modules []string // nil: the recorded ones, by their paths
	Host    host.Options

	// Changed is called with the name of each module that is not the recorded one. Nil: nothing
	// is called.
	Changed func(module string)
}

// Replay replays a recording with modules.
//
// Errors: those of the modules, and of the recording.
func (p *Program) Replay(ctx context.Context, f *File) (*Report, error) {
	r, err := NewReplay(f)
	if err != nil {
		return nil, err
	}
	names, o := p.Modules, p.Host
	if len(names) == 0 {
		for _, module := range f.Header.Modules {
			if err := boundedfile.CheckNamed(module.Path); err != nil {
				return nil, fmt.Errorf("the recorded module %w", err)
			}
			names = append(names, module.Path)
		}
	}
	o.Config = maps.Clone(f.Header.Config)
	if o.Config == nil {
		o.Config = map[string]string{}
	}
	maps.Copy(o.Config, p.Host.Config)
	exactly(&o)
	modules, err := operator.LoadFrom(r.Loading(ctx), p.Source, names, o)
	if err != nil {
		return nil, err
	}
	var all []guests.Guest
	for i, module := range modules {
		defer func() { _ = module.Close(context.WithoutCancel(ctx)) }() // the process is ending
		all = append(all, operator.GuestOf(module))
		if p.Changed != nil && i < len(f.Header.Modules) && f.Header.Modules[i].Digest != module.Digest() {
			p.Changed(module.Name())
		}
	}
	if err := r.Attach(all); err != nil {
		return nil, err
	}
	return r.Run(ctx)
}
