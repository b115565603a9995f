package host

import (
	"context"
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/files"
)

// configure merges the configuration that is embedded in the module with that of the
// options, which takes precedence. A module that declares its keys never sees any other key.
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

// readFiles reads the files that are embedded in the module.
func (m *Module) readFiles(wasm []byte) error {
	var err error
	if m.files, err = files.Read(wasm); err != nil {
		return m.refuse(err)
	}
	if size := m.files.Size(); size > m.options.MaxFiles {
		return m.refuse(fmt.Errorf("its files have %d bytes: the limit MaxFiles is %d", size, m.options.MaxFiles))
	}
	return nil
}

// restrict removes the undeclared keys from the configuration and the secrets, if the module
// declares its keys. Embedded values remain, but values from the options for undeclared keys
// do not. It reports whether it removed a key.
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

// first creates the first instance, whose registration becomes that of the module. If the
// module wants only a part of the configuration, this instance has seen too much. A second
// instance then replaces it, sees only that part, and must register exactly the same
// handlers.
func (m *Module) first(ctx context.Context) error {
	restricted, err := m.registerFirst(ctx)
	if err != nil || !restricted {
		return err
	}
	if s := m.snapshot.Swap(nil); s != nil {
		if err := m.drop(s); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if _, err := m.registerFirst(ctx); err != nil {
		return fmt.Errorf("with the keys of the configuration that it wants (capabilities.config), and no others: %w", err)
	}
	return nil
}

// registerFirst asks an instance for the registration, and removes the undeclared keys from
// the configuration. It keeps the instance for work only if there are no clones and no key
// was removed.
func (m *Module) registerFirst(ctx context.Context) (restricted bool, err error) {
	in, err := m.acquire(ctx, m.pool.permits, nil)
	if err != nil {
		return false, err
	}
	defer in.unlock()
	defer m.pool.give(in)
	if err := m.parseRegistration(); err != nil {
		return false, in.scarce(err)
	}
	restricted = m.restrict(m.registration.Capabilities)
	// This memory is private: clones share most of theirs, and the first call creates one.
	in.tainted = m.snapshot.Load() != nil || restricted
	return restricted, nil
}
