package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// snapshot is the state of an instance that clones begin with: its memory and its globals. The
// first one is that after the registration: the instance has seen the configuration, but no secrets
// and no invocation. Keep takes another one.
type snapshot struct {
	image   *linear.Image
	globals []uint64
	charged int64 // bytes
}

// takeSnapshot saves the state of a fresh instance for clones, unless the module or the
// system prevents it. Without a snapshot, each instance starts from the beginning.
func (m *Module) takeSnapshot(in *instance) error {
	if m.options.NoClones || !m.prepared.Cloneable {
		return nil
	}
	s, err := in.snapshot(m.options.newImage)
	if s == nil || err != nil {
		return err
	}
	if !m.snapshot.CompareAndSwap(nil, s) {
		return m.drop(s)
	}
	return nil
}

// drop gives back a snapshot.
func (m *Module) drop(s *snapshot) error {
	m.charge().Give(s.charged)
	return s.image.Close()
}

// snapshot returns the state of the instance; nil if the system has no images, or no room for one.
func (in *instance) snapshot(newImage func(contents []byte) (*linear.Image, error)) (*snapshot, error) {
	memory := in.mod.Memory()
	contents, _ := memory.Read(0, memory.Size())
	most := int64(len(contents))
	if in.m.charge().Take(most) != nil {
		return nil, nil
	}
	image, err := newImage(contents)
	if err != nil {
		in.m.charge().Give(most)
	}
	if errors.Is(err, linear.ErrUnsupported) || errors.Is(err, linear.ErrMappings) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.m.name, err)
	}
	s := &snapshot{image: image, globals: make([]uint64, in.m.prepared.Globals), charged: int64(image.Stored())}
	in.m.charge().Give(most - s.charged)
	for i := range s.globals {
		s.globals[i] = in.mod.ExportedGlobal(globalName(i)).Get()
	}
	return s, nil
}

// Keep is called when the startup handlers have ended. If they have succeeded, it makes what they have
// left in the memory of their instance the state that all later instances begin with: as in Kopf,
// handlers see the variables that startup handlers have assigned. Without clones, and for plugins,
// whose variables are not in their memory, only that instance has this state. The pool keeps it for
// later calls, unless it is retired.
//
// No startup handler may run during the call.
func (m *Module) Keep(succeeded bool) error {
	in := m.pool.finish()
	if in == nil {
		return nil
	}
	in.hold()
	defer in.release()
	if in.dead != nil { // Close was faster
		return nil
	}
	before := m.snapshot.Load()
	if _, isPlugin := in.guest.(interface{ Free() }); succeeded && (before == nil || isPlugin) {
		m.pool.reap(0) // idle instances have the state of before, and could leave no room
		m.pool.settle(in)
		return nil
	}
	defer m.pool.forget(in)
	defer in.close()
	if !succeeded {
		return nil
	}
	s, err := in.snapshot(linear.NewImageOfClone)
	if s == nil || err != nil {
		return err
	}
	m.snapshot.Store(s)
	m.pool.reap(0) // idle instances have the state of before
	return in.m.drop(before)
}

func globalName(i int) string { return prepare.GlobalPrefix + strconv.Itoa(i) }

// errSnapshot says that a snapshot does not fit the module: a defect of this package.
var errSnapshot = errors.New("broken snapshot")

// clone makes the instance a copy of a snapshot. They share pages until a page is written.
func (in *instance) clone(ctx context.Context, s *snapshot) error {
	in.from = s
	memory, err := s.image.Clone(in.m.options.MaxMemory)
	if err != nil {
		return in.m.noMemory(err)
	}
	if err := in.instantiate(ctx, memory); err != nil {
		return err
	}
	mem := in.mod.Memory()
	if _, ok := mem.Grow(uint32(s.image.Size())/wasmPage - mem.Size()/wasmPage); !ok {
		return fmt.Errorf("%s: instance: %w", in.m.name, errSnapshot)
	}
	for i, value := range s.globals {
		global, ok := in.mod.ExportedGlobal(globalName(i)).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("%s: instance: %w", in.m.name, errSnapshot)
		}
		global.Set(value)
	}
	return nil
}
