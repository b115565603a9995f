package guest

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// served is a module that runs natively, and the end of its host.
func served(t *testing.T, m *Module) (*connection, net.Conn, <-chan error) {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- m.Serve(theirs) }() // Ends with the connection.
	t.Cleanup(func() { _ = ours.Close() })
	return &connection{from: bufio.NewReader(ours), to: ours}, ours, done
}

// calls makes a call and returns its answer.
func (c *connection) calls(t *testing.T, kind abi.MessageKind, task uint32, data string) string {
	t.Helper()
	if err := c.send(kind, task, []byte(data)); err != nil {
		t.Fatal(err)
	}
	answer, err := c.receive()
	if err != nil || answer.Kind != abi.MessageAnswer || answer.Task != task {
		t.Fatalf("got the answer %+v and the error %v", answer, err)
	}
	return string(answer.data)
}

func TestServe(t *testing.T) {
	t.Parallel()
	m := &Module{}
	host, ours, done := served(t, m)
	if got := host.calls(t, abi.MessageRegister, 0, `{"abi":1}`); !strings.Contains(got, `"sdk"`) {
		t.Errorf("registered %s", got)
	}
	if got := host.calls(t, abi.MessageResume, 5, `{}`); !strings.Contains(got, "no such task") {
		t.Errorf("an unknown task: %s", got)
	}
	for _, kind := range []abi.MessageKind{abi.MessageCancel, abi.MessageRelease} {
		if got := host.calls(t, kind, 5, ""); got != "" {
			t.Errorf("call %d: %s", kind, got)
		}
	}
	if _, err := m.Host.Config("key"); err != Errno(abi.ErrnoInvalid) { //nolint:errorlint // it is not wrapped
		t.Errorf("outside of a call, the host is asked: %v", err)
	}
	_ = ours.Close()
	if err := <-done; err != nil {
		t.Errorf("after the end of the connection: %v", err)
	}
}

func TestServeBounds(t *testing.T) {
	t.Parallel()
	_, ours, done := served(t, &Module{})
	if _, err := ours.Write(abi.MessageHeader{Kind: abi.MessageStart, Size: abi.MaxMessage + 1}.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("a message that is too large: %v", err)
	}
}
