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

// snapshot is the state of an instance after its registration: its memory and its globals.
// The instance has seen the configuration, but no secrets and no invocation.
type snapshot struct {
	image   *linear.Image
	globals []uint64
}

// takeSnapshot saves the state of a fresh instance for clones, unless the module or the
// system prevents it. Without a snapshot, each instance starts from the beginning.
func (m *Module) takeSnapshot(in *instance) error {
	if m.options.NoClones || !m.prepared.Cloneable {
		return nil
	}
	memory := in.mod.Memory()
	contents, _ := memory.Read(0, memory.Size())
	image, err := m.options.newImage(contents)
	if errors.Is(err, linear.ErrUnsupported) || errors.Is(err, linear.ErrMappings) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	s := &snapshot{image: image, globals: make([]uint64, m.prepared.Globals)}
	for i := range s.globals {
		s.globals[i] = in.mod.ExportedGlobal(globalName(i)).Get()
	}
	if !m.snapshot.CompareAndSwap(nil, s) {
		return image.Close()
	}
	return nil
}

func globalName(i int) string { return prepare.GlobalPrefix + strconv.Itoa(i) }

// errSnapshot says that a snapshot does not fit the module: a defect of this package.
var errSnapshot = errors.New("broken snapshot")

// clone makes the instance a copy of a snapshot. They share pages until a page is written.
func (in *instance) clone(ctx context.Context, s *snapshot) error {
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
