package host

import (
	"context"
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// configure adds the configuration that is embedded in the module, below that of the options.
// If the module declares which keys it wants, it never sees another one.
func (m *Module) configure(wasm []byte, declared *declaration.Declaration) error {
	var err error
	if m.carried, err = configuration.Read(wasm); err != nil {
		return m.refuse(err)
	}
	if len(m.carried) > 0 {
		config := maps.Clone(m.carried)
		maps.Copy(config, m.options.Config)
		m.options.Config = config
	}
	if declared == nil {
		return nil
	}
	r, err := declared.Parsed()
	if err != nil {
		return m.refuse(err)
	}
	m.restrict(r.Capabilities)
	return nil
}

// restrict takes all keys from the configuration and the secrets that the module does not
// want, if it says which ones it wants. What is embedded in the module is its own, but a
// value from outside for such a key is not. It tells whether anything was taken.
func (m *Module) restrict(c *abi.Capabilities) (taken bool) {
	if c == nil || len(c.Config) == 0 {
		return false
	}
	config, secrets := maps.Clone(m.carried), map[string]string{}
	if config == nil {
		config = map[string]string{}
	}
	for _, key := range c.Config {
		if value, ok := m.options.Config[key]; ok {
			config[key] = value
		}
		if value, ok := m.options.Secrets[key]; ok {
			secrets[key] = value
		}
	}
	taken = !maps.Equal(config, m.options.Config) || len(secrets) != len(m.options.Secrets)
	m.options.Config, m.options.Secrets = config, secrets
	return taken
}

// first makes the first instance, whose registration is that of the module. If that wants
// only a part of the configuration, the instance has seen too much: another one takes its
// place, which sees only that part and must register exactly the same.
func (m *Module) first(ctx context.Context) error {
	restricted, err := m.registerFirst(ctx)
	if err != nil || !restricted {
		return err
	}
	if s := m.snapshot.Swap(nil); s != nil {
		if err := s.image.Close(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if _, err := m.registerFirst(ctx); err != nil {
		return fmt.Errorf("with the keys of the configuration that it wants (capabilities.config), and no others: %w", err)
	}
	return nil
}

// registerFirst asks an instance for the registration, and takes the keys from the
// configuration that the module does not want. The instance is kept for work only if there
// are no clones, and nothing was taken.
func (m *Module) registerFirst(ctx context.Context) (restricted bool, err error) {
	in, err := m.acquire(ctx, m.pool.permits, nil)
	if err != nil {
		return false, err
	}
	defer in.unlock()
	defer m.pool.give(in)
	if err := m.parseRegistration(); err != nil {
		return false, err
	}
	restricted = m.restrict(m.registration.Capabilities)
	// Its memory is all its own: a clone shares most of it, and is made at the first call.
	in.tainted = m.snapshot.Load() != nil || restricted
	return restricted, nil
}
