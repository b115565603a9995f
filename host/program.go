package host

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// program is a guest that runs natively, at the other end of a connection. It is one
// instance with all tasks. See abi/SPEC.md, "Native guests".
type program struct {
	conn     io.ReadWriteCloser
	in       *instance // the only instance
	messages chan message
	gone     chan struct{} // closed when there are no more messages
	err      error         // the reason; set before gone is closed
}

// message is a message from the program.
type message struct {
	abi.MessageHeader
	data []byte
}

// ErrProgram says that a native program has ended, or has sent an invalid message.
var ErrProgram = errors.New("the program is gone")

// Connect creates a module from a native program at the other end of a connection, for
// debuggers and profilers. The program is not sandboxed: it has the rights of its user. It
// has no computing limit, so that it can stop at breakpoints. When the operator ends,
// running calls are abandoned after Options.StopGrace. Close closes the connection.
//
// See abi/SPEC.md, "Native guests".
func Connect(ctx context.Context, name string, conn io.ReadWriteCloser, o Options) (*Module, error) {
	m := &Module{name: name, options: o.withDefaults()}
	m.openOutput()
	m.pool = newPool(&m.options)
	p := &program{conn: conn, in: m.newInstance(), messages: make(chan message), gone: make(chan struct{})}
	p.in.program, p.in.load = p, 1 // the constant load keeps it out of the pool
	m.program = p
	m.pool.living[p.in] = true
	m.pool.made = 1
	go p.read() // Waited for by free.
	if err := m.introduce(ctx); err != nil {
		return nil, errors.Join(err, m.free(ctx))
	}
	return m, nil
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
func (m *Module) Gone() <-chan struct{} {
	if m.program == nil {
		return nil
	}
	return m.program.gone
}

// read reads the messages of the program until the connection ends.
func (p *program) read() {
	defer close(p.gone)
	defer close(p.messages)
	from := bufio.NewReader(p.conn)
	for {
		m, err := readMessage(from)
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrProgram, err)
			return
		}
		p.messages <- m // received by exchange or by close
	}
}

func readMessage(from io.Reader) (message, error) {
	var header [abi.MessageHeaderSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return message{}, err
	}
	m := message{MessageHeader: abi.ParseMessageHeader(header)}
	if m.Size > abi.MaxMessage {
		return message{}, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrMessage, m.Size, abi.MaxMessage)
	}
	m.data = make([]byte, m.Size)
	_, err := io.ReadFull(from, m.data)
	return m, err
}

// send sends a message in one write.
func (p *program) send(kind abi.MessageKind, task uint32, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	text := make([]byte, 0, abi.MessageHeaderSize+size)
	text = abi.MessageHeader{Kind: kind, Task: task, Size: uint32(size)}.Append(text)
	for _, part := range parts {
		text = append(text, part...)
	}
	_, err := p.conn.Write(text)
	return err
}

// kinds maps exports to the kinds of messages that replace them.
var kinds = map[string]abi.MessageKind{
	abi.ExportRegister: abi.MessageRegister, abi.ExportStart: abi.MessageStart, abi.ExportResume: abi.MessageResume,
	abi.ExportCancel: abi.MessageCancel, abi.ExportRelease: abi.MessageRelease,
	abi.ExportAsk: abi.MessageAsk, abi.ExportTransform: abi.MessageTransform,
}

// calls calls the program, and meanwhile answers its questions.
func (p *program) calls(c *call, task uint32, data []byte) ([]byte, error) {
	if c.in.dead != nil {
		return nil, c.dead()
	}
	if err := c.ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %s is not called: %w", c.in.m.name, c.export, context.Cause(c.ctx))
	}
	defer p.hangUpLater(c)()
	defer c.settle()
	if err := p.send(kinds[c.export], task, data); err != nil {
		return nil, c.fail(fmt.Errorf("%w: %w", ErrProgram, err))
	}
	for m := range p.messages {
		switch m.Kind {
		case abi.MessageAnswer:
			return m.data, nil
		case abi.MessagePanicked:
			return nil, c.panicked(string(m.data))
		}
		result, output := c.answer(m)
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], uint64(result))
		if err := p.send(abi.MessageResult, m.Task, number[:], output); err != nil {
			return nil, c.fail(fmt.Errorf("%w: %w", ErrProgram, err))
		}
	}
	if c.ctx.Err() != nil {
		return nil, c.fail(&stopped{context.Cause(c.ctx)})
	}
	return nil, c.fail(p.err)
}

// hangUpLater closes the connection if the context of the call has ended longer ago than the
// grace, because a program cannot be interrupted. The returned function cancels this.
func (p *program) hangUpLater(c *call) func() {
	var timer *time.Timer
	fired := make(chan struct{})
	stop := context.AfterFunc(c.ctx, func() {
		defer close(fired)
		timer = time.AfterFunc(c.options().StopGrace, func() { _ = p.conn.Close() }) // the reader reports it
	})
	return func() {
		if !stop() {
			<-fired
			timer.Stop()
		}
	}
}

// panicked returns the error of a call that panicked in the program. The program itself
// continues.
func (c *call) panicked(text string) error {
	c.in.m.failed.Add(1)
	message, stack := validText(text), ""
	if i := strings.IndexByte(message, '\n'); i >= 0 {
		message, stack = message[:i], message[i+1:]
	}
	return &GuestError{Module: c.in.m.name, Export: c.export, Message: message, Stack: stack, Err: ErrTrap}
}

// hangUp closes the connection, and waits for the reader.
func (p *program) hangUp() error {
	err := p.conn.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		err = nil // expected: an abandoned call closed the connection before
	}
	for range p.messages { // drains the messages, so that the reader can end
	}
	<-p.gone
	return err
}
