// Package native is the kind of guests that are programs of the operating system, at the
// other end of a connection, for debuggers and profilers. A program is one instance with all
// tasks.
//
// See abi/SPEC.md, "Native guests".
package native

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
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
)

// ErrProgram says that a program has ended, or has sent an invalid message.
var ErrProgram = errors.New("the program has ended")

// Program is a program at the other end of a connection. It implements guests.Guest.
type Program struct {
	conn     io.ReadWriteCloser
	grace    time.Duration
	messages chan Message
	gone     chan struct{} // closed when there are no more messages
	err      error         // the reason; set before gone is closed
}

// New starts to read the messages of a program. The caller must call Close. When the context
// of a call has ended longer ago than the grace, the connection is closed, because a program
// cannot be interrupted.
func New(conn io.ReadWriteCloser, grace time.Duration) *Program {
	p := &Program{conn: conn, grace: grace, messages: make(chan Message), gone: make(chan struct{})}
	go p.read() // Waited for by Close.
	return p
}

// Gone returns a channel that is closed when the program has ended.
func (p *Program) Gone() <-chan struct{} { return p.gone }

// Close closes the connection, and waits for the reader.
func (p *Program) Close() error {
	err := p.conn.Close()
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		err = nil // expected: an abandoned call closed the connection before
	}
	for range p.messages { // drains the messages, so that the reader can end
	}
	<-p.gone
	return err
}

// read reads the messages of the program until the connection ends.
func (p *Program) read() {
	defer close(p.gone)
	defer close(p.messages)
	from := bufio.NewReader(p.conn)
	for {
		m, err := Read(from)
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrProgram, err)
			return
		}
		p.messages <- m // received by converse or by Close
	}
}

// Initializers implements guests.Guest: a program has started already.
func (p *Program) Initializers(func(string) bool) []guests.Initializer { return nil }

// Exchange implements guests.Guest.
func (p *Program) Exchange(c guests.Call, m guests.Message) ([]byte, error) {
	return p.converse(c, m.Task, m.Append(make([]byte, 0, m.Size())))
}

// Tell implements guests.Guest.
func (p *Program) Tell(c guests.Call, task uint32) error {
	_, err := p.converse(c, task, nil)
	return err
}

// kinds maps exports to the kinds of messages that replace them.
var kinds = map[string]abi.MessageKind{
	abi.ExportRegister: abi.MessageRegister, abi.ExportStart: abi.MessageStart, abi.ExportResume: abi.MessageResume,
	abi.ExportCancel: abi.MessageCancel, abi.ExportRelease: abi.MessageRelease,
	abi.ExportAsk: abi.MessageAsk, abi.ExportTransform: abi.MessageTransform,
}

// converse calls the program, and meanwhile answers its questions.
func (p *Program) converse(c guests.Call, task uint32, data []byte) ([]byte, error) {
	defer p.hangUpLater(c.Context())()
	defer c.Settle()
	if err := Write(p.conn, kinds[c.Export()], task, data); err != nil {
		return nil, c.Fail(fmt.Errorf("%w: %w", ErrProgram, err))
	}
	for m := range p.messages {
		switch m.Kind {
		case abi.MessageAnswer:
			return m.Data, nil
		case abi.MessagePanicked:
			return nil, c.Fail(panicked(m.Data))
		}
		result, output := answer(c, m)
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], uint64(result))
		if err := Write(p.conn, abi.MessageResult, m.Task, number[:], output); err != nil {
			return nil, c.Fail(fmt.Errorf("%w: %w", ErrProgram, err))
		}
	}
	if c.Context().Err() != nil {
		return nil, c.Fail(&guests.Stopped{Err: context.Cause(c.Context())})
	}
	return nil, c.Fail(p.err)
}

// hangUpLater closes the connection if the context of the call has ended longer ago than the
// grace. The returned function cancels this.
func (p *Program) hangUpLater(ctx context.Context) func() {
	var timer *time.Timer
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		timer = time.AfterFunc(p.grace, func() { _ = p.conn.Close() }) // the reader reports it
	})
	return func() {
		if !stop() {
			<-fired
			timer.Stop()
		}
	}
}

// panicked returns the cause of a call that panicked in the program.
func panicked(text []byte) *guests.Panic {
	message, stack, _ := strings.Cut(functions.Text(text), "\n")
	return &guests.Panic{Message: message, Stack: stack}
}
