package host

import (
	"context"
	"errors"
	"io"

	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/guests/native"
)

// ErrProgram says that a native program has ended, or has sent an invalid message.
var ErrProgram = native.ErrProgram

// Connect creates a module from a native program at the other end of a connection, for
// debuggers and profilers. The program is not sandboxed: it has the rights of its user. It
// has no computing limit, so that it can stop at breakpoints. When the operator ends,
// running calls are abandoned after Options.StopGrace. Close closes the connection.
//
// See abi/SPEC.md, "Native guests".
func Connect(ctx context.Context, name string, conn io.ReadWriteCloser, o Options) (*Module, error) {
	m := &Module{name: name, kind: KindNative, options: o.withDefaults()}
	m.openOutput()
	m.pool = newPool(&m.options)
	program := native.New(conn, m.options.StopGrace)
	m.program = connection{gone: program.Gone(), close: program.Close}
	m.newGuest = func() guests.Guest { return program }
	m.pool.addOnly(m.newInstance())
	if err := m.introduce(ctx); err != nil {
		return nil, errors.Join(err, m.free(ctx))
	}
	return m, nil
}

// connection is a native program; empty for modules.
type connection struct {
	gone  <-chan struct{} // see Gone
	close func() error
}

// introduce asks the program for its registration.
func (m *Module) introduce(ctx context.Context) error {
	in, err := m.acquire(ctx, m.pool.permits, nil)
	if err != nil {
		return err
	}
	defer in.unlock()
	if err := in.register(ctx); err != nil {
		return err
	}
	err = m.parseRegistration()
	if err == nil {
		m.restrict(m.registration.Capabilities) // it has seen everything at its registration: it is not sandboxed
	}
	return err
}

// Gone returns a channel that is closed when the native program has ended; nil for modules.
func (m *Module) Gone() <-chan struct{} { return m.program.gone }
