//go:build !wasip1

package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/kopf-wasm/kopf/abi"
)

// Serve answers the calls of a host at the other end of a connection, until that ends: then
// it returns nil. The module runs natively, in this process.
//
// See SPEC.md, "Native guests".
func (m *Module) Serve(conn io.ReadWriter) error {
	host := &connection{from: bufio.NewReader(conn), to: conn}
	m.Host = host
	for {
		call, err := host.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		host.set(true)
		answer := m.handle(call)
		host.set(false)
		if err := host.send(abi.MessageAnswer, call.Task, answer); err != nil {
			return err
		}
	}
}

// received is a message of the host.
type received struct {
	abi.MessageHeader
	data []byte
}

// handle makes the call that a message stands for.
func (m *Module) handle(call received) []byte {
	switch call.Kind {
	case abi.MessageRegister:
		return m.Register(call.data)
	case abi.MessageStart:
		return m.Start(call.Task, call.data)
	case abi.MessageResume:
		return m.Resume(call.Task, call.data)
	case abi.MessageCancel:
		m.Cancel(call.Task)
	case abi.MessageRelease:
		m.Release(call.Task)
	case abi.MessageAsk:
		return m.Ask(call.Task, call.data)
	case abi.MessageTransform:
		return m.Transform(call.Task, call.data)
	}
	return nil
}

// connection asks the host at its other end. It is safe for concurrent use, as
// goroutines that handlers leave behind do run natively.
type connection struct {
	mu     sync.Mutex // held while a question is under way
	from   *bufio.Reader
	to     io.Writer
	called bool // by the host: only meanwhile it can be asked
}

var _ Host = (*connection)(nil)

func (c *connection) set(called bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called = called
}

func (c *connection) receive() (received, error) {
	var header [abi.MessageHeaderSize]byte
	if _, err := io.ReadFull(c.from, header[:]); err != nil {
		return received{}, err
	}
	m := received{MessageHeader: abi.ParseMessageHeader(header)}
	if m.Size > abi.MaxMessage {
		return received{}, fmt.Errorf("a message of %d bytes, the limit is %d", m.Size, abi.MaxMessage)
	}
	m.data = make([]byte, m.Size)
	_, err := io.ReadFull(c.from, m.data)
	return m, err
}

func (c *connection) send(kind abi.MessageKind, task uint32, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	text := abi.MessageHeader{Kind: kind, Task: task, Size: uint32(size)}.Append(nil)
	for _, part := range parts {
		text = append(text, part...)
	}
	_, err := c.to.Write(text)
	return err
}

// ask asks the host: its result, and the output.
func (c *connection) ask(kind abi.MessageKind, task uint32, parts ...[]byte) (int64, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.called {
		return abi.ErrnoInvalid, nil
	}
	if err := c.send(kind, task, parts...); err != nil {
		return abi.ErrnoInvalid, nil // the connection has ended, and so does Serve
	}
	m, err := c.receive()
	if err != nil || len(m.data) < resultBytes {
		return abi.ErrnoInvalid, nil
	}
	return int64(u64(m.data)), m.data[resultBytes:]
}

// resultBytes is the size of a result.
const resultBytes = 8

func u64(data []byte) (v uint64) {
	for i := resultBytes - 1; i >= 0; i-- {
		v = v<<8 | uint64(data[i])
	}
	return v
}

func number[N int | int64](v N, size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(uint64(v) >> (8 * i))
	}
	return data
}

func (c *connection) read(kind abi.MessageKind, task uint32, parts ...[]byte) ([]byte, error) {
	n, data := c.ask(kind, task, parts...)
	if n < 0 {
		return nil, Errno(n)
	}
	return data, nil
}

// Log writes to the log of the object, or to standard error if the host does nothing now.
func (c *connection) Log(task uint32, level int, text string) {
	if n, _ := c.ask(abi.MessageLog, task, number(level, 4), []byte(text)); n < 0 {
		fmt.Fprintln(os.Stderr, text)
	}
}

// Segment asks for a part of the invocation.
func (c *connection) Segment(task uint32, tag int) ([]byte, error) {
	return c.read(abi.MessageSegment, task, number(tag, 4))
}

// Stopped asks for the stop reasons.
func (c *connection) Stopped(task uint32) int {
	n, _ := c.ask(abi.MessageStopped, task)
	return int(max(n, 0))
}

// Config asks for a value of the configuration.
func (c *connection) Config(key string) (string, error) {
	value, err := c.read(abi.MessageConfig, 0, []byte(key))
	return string(value), err
}

// Random asks for random bytes.
func (c *connection) Random(buf []byte) error {
	data, err := c.read(abi.MessageRandom, 0, number(len(buf), 4))
	copy(buf, data)
	return err
}

// Event posts a Kubernetes event.
func (c *connection) Event(task uint32, event []byte) error {
	_, err := c.read(abi.MessageEvent, task, event)
	return err
}

// MemoGet asks for a value of a memo.
func (c *connection) MemoGet(task uint32, scope int, key string) (int64, []byte, error) {
	version, value := c.ask(abi.MessageMemoGet, task, number(scope, 4), []byte(key))
	if version < 0 {
		return 0, nil, Errno(version)
	}
	return version, value, nil
}

// MemoSet stores a value in a memo.
func (c *connection) MemoSet(task uint32, scope int, key string, value []byte, version int64) (int64, error) {
	n, _ := c.ask(abi.MessageMemoSet, task, number(scope, 4), number(version, 8), number(len(key), 4), []byte(key), value)
	if n < 0 {
		return 0, Errno(n)
	}
	return n, nil
}

// Index asks about an index.
func (c *connection) Index(task uint32, op int, name string, key []byte) ([]byte, error) {
	return c.read(abi.MessageIndex, task, number(op, 4), number(len(name), 4), []byte(name), key)
}
