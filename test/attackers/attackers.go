// Package attackers holds clients of HTTPS servers that try to keep others from being
// served: slow, silent, half-open and flooding ones. Tests and benchmarks run them against
// servers of this repository, on this machine only.
package attackers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Kind is a way to attack.
type Kind struct {
	Name    string
	Secured bool // it shakes hands first, which takes time on both sides
	Floods  bool // it takes as much of the processors as it gets

	// attack uses one connection until it is closed, or does not help any more.
	attack func(a *attacker, conn net.Conn) error
}

// Kinds are all ways to attack.
var Kinds = []Kind{
	{"silent connections", false, false, func(a *attacker, conn net.Conn) error { return a.keep(conn) }},
	{"half a handshake", false, false, halfHandshake},
	{"silence after the handshake", true, false, secured(func(a *attacker, conn net.Conn) error { return a.keep(conn) })},
	{"heads byte by byte", true, false, secured(slowHead)},
	{"bodies byte by byte", true, false, secured(slowBody)},
	{"bodies without an end", true, false, secured(endlessBody)},
	{"connections", false, true, func(*attacker, net.Conn) error { return nil }},
	{"handshakes", true, true, secured(func(*attacker, net.Conn) error { return nil })},
	{"recorded handshakes", true, true, recordedHandshake},
	{"bad requests", true, true, secured(badRequests)},
	{"resets of streams", true, true, securedH2(resets)},
}

// Environment is the variable that makes a program attack: see Main.
const Environment = "KOPF_ATTACKERS"

// Main attacks, if this program was started for that by Start, until its standard input
// ends. Programs that call Start call Main first.
func Main() {
	var kind, address, path string
	var count int
	if _, err := fmt.Sscanf(os.Getenv(Environment), "%q %q %q %d", &kind, &address, &path, &count); err != nil {
		return
	}
	chosen := Kinds[slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == kind })]
	ctx, cancel := context.WithCancel(context.Background())
	var opened atomic.Int64
	for i := range count {
		one := &attacker{ctx, address, path}
		go one.attack(chosen, &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}, func() {
			if opened.Add(1) == int64(count) {
				fmt.Fprintln(os.Stdout)
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until its end, whatever that is
	cancel()
	fmt.Fprintln(os.Stderr, opened.Load())
	os.Exit(0)
}

// Attack is an attack under way.
type Attack struct {
	cmd    *exec.Cmd
	input  io.Closer
	opened bytes.Buffer
}

// Start runs attackers against a server at an address of the loopback interface until
// Stop, with a path of requests that have bodies. They are in a process of their own, which
// gets the processor time that others leave, as if they were on other machines. They have eight
// other loopback addresses. Who is disconnected connects again: floods at once, others
// after five seconds. Start returns when each has connected once, or after a minute.
func Start(kind Kind, address, path string, count int) (*Attack, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &Attack{cmd: leftover(own)}
	a.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%q %q %q %d", Environment, kind.Name, address, path, count))
	a.cmd.Stderr = &a.opened
	if a.input, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	ready, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	connected := make(chan struct{})
	go func() { // ends with the process at the latest
		defer close(connected)
		_, _ = ready.Read(make([]byte, 1))
	}()
	select {
	case <-connected:
	case <-time.After(time.Minute):
	}
	return a, nil
}

// leftover is a command that runs a program with the processor time that others leave.
//
// Linux has priorities of threads, and this process could change one of the other's only. A program that is
// started with a priority has it in all threads. The lowest priority alone is not enough: a thread that wakes up
// waits until the running one has used its slice, 1.4 ms on two processors, and a review wakes several
// threads one after the other. The idle policy yields at once.
//
// Source: sched(7), "SCHED_IDLE".
func leftover(program string) *exec.Cmd {
	if chrt, err := exec.LookPath("chrt"); err == nil {
		return exec.Command(chrt, "--idle", "0", program)
	}
	return exec.Command("nice", "-n", "19", program)
}

// Stop ends the attack, and says how many connections there were.
func (a *Attack) Stop() (connections int, err error) {
	_ = a.input.Close() // the process ends
	if err := a.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the attackers: %w: %s", err, &a.opened)
	}
	_, err = fmt.Sscan(a.opened.String(), &connections)
	return connections, err
}

type attacker struct {
	ctx           context.Context
	address, path string
}

// pause is how long attackers wait before they connect again. Floods do so after failed connects only.
const pause = 5 * time.Second

// attack attacks until its context ends.
func (a *attacker) attack(kind Kind, from net.Addr, connected func()) {
	for a.ctx.Err() == nil {
		conn, err := a.connect(from)
		if err == nil {
			connected()
			_ = a.use(conn, kind) // the server disconnects attackers
		}
		if err != nil || !kind.Floods {
			time.Sleep(pause)
		}
	}
}

func (a *attacker) connect(from net.Addr) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: from, Timeout: pause}
	return dialer.DialContext(a.ctx, "tcp", a.address)
}

// use attacks over one connection.
func (a *attacker) use(conn net.Conn, kind Kind) error {
	defer conn.Close()
	defer context.AfterFunc(a.ctx, func() { conn.Close() })()
	_ = conn.(*net.TCPConn).SetLinger(0) // no connections that wait for their end on this machine
	return kind.attack(a, conn)
}

// keep holds a connection until the server closes it.
func (a *attacker) keep(conn net.Conn) error {
	_, err := io.Copy(io.Discard, conn)
	return err
}

// trickle sends a text slowly.
func (a *attacker) trickle(conn net.Conn, text string) error {
	for i := range len(text) {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
	return nil
}

// secured attacks behind the handshake of TLS.
func secured(attack func(a *attacker, conn net.Conn) error, protocols ...string) func(a *attacker, conn net.Conn) error {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // an attacker
	return func(a *attacker, conn net.Conn) error {
		over := tls.Client(conn, config)
		if err := over.HandshakeContext(a.ctx); err != nil {
			return err
		}
		return attack(a, over)
	}
}

// halfHandshake announces a message of TLS, and sends half of it.
func halfHandshake(a *attacker, conn net.Conn) error {
	if _, err := conn.Write(append([]byte{0x16, 3, 1, 1, 0, 1, 0, 0, 0xfc, 3, 3}, make([]byte, 100)...)); err != nil {
		return err
	}
	return a.keep(conn)
}

// hello is the first message of a handshake. Attackers that send a recorded one compute nothing.
var hello = sync.OnceValues(func() ([]byte, error) {
	client, server := net.Pipe()
	defer server.Close()
	go func() { // It ends with the connection.
		_ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() //nolint:gosec // an attacker
		client.Close()
	}()
	message := make([]byte, 16<<10)
	n, err := server.Read(message)
	return message[:n], err
})

// recordedHandshake sends the first message of a handshake, and disconnects when the server has computed
// its answer.
func recordedHandshake(a *attacker, conn net.Conn) error {
	message, err := hello()
	if err != nil {
		return err
	}
	if _, err := conn.Write(message); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func (a *attacker) head(length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", a.path, length)
}

func slowHead(a *attacker, conn net.Conn) error { return a.trickle(conn, a.head(1)) }

func slowBody(a *attacker, conn net.Conn) error {
	if _, err := io.WriteString(conn, a.head(len(part))); err != nil {
		return err
	}
	return a.trickle(conn, string(part))
}

// part is one of large bodies.
var part = bytes.Repeat([]byte(" "), 64<<10)

// endlessBody sends all of a large body but its end: what is kept of it is memory.
func endlessBody(a *attacker, conn net.Conn) error {
	const parts = 64
	if _, err := io.WriteString(conn, a.head(parts*len(part)+1)); err != nil {
		return err
	}
	for range parts {
		if _, err := conn.Write(part); err != nil {
			return err
		}
	}
	return a.keep(conn)
}

// badRequests are whole, and no reviews.
func badRequests(a *attacker, conn net.Conn) error {
	answers := make([]byte, 4096)
	for a.ctx.Err() == nil {
		if _, err := io.WriteString(conn, a.head(1)+"{"); err != nil {
			return err
		}
		if _, err := conn.Read(answers); err != nil {
			return err
		}
	}
	return a.ctx.Err()
}

// securedH2 attacks by frames of HTTP/2.
func securedH2(attack func(a *attacker, frames *http2.Framer, head []byte) error) func(a *attacker, conn net.Conn) error {
	return secured(func(a *attacker, conn net.Conn) error {
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			return err
		}
		frames := http2.NewFramer(conn, conn)
		var head bytes.Buffer
		encoder := hpack.NewEncoder(&head)
		for _, field := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "x"}, {Name: ":path", Value: a.path}} {
			if err := encoder.WriteField(field); err != nil {
				return err
			}
		}
		if err := errors.Join(frames.WriteSettings(), frames.WriteSettingsAck()); err != nil {
			return err
		}
		done := make(chan struct{})
		defer func() { <-done }()
		defer conn.Close()
		go func() { // waited for above
			defer close(done)
			_ = a.keep(conn) // what the server says does not matter
		}()
		return attack(a, frames, head.Bytes())
	}, "h2")
}

// resets opens streams and ends them at once.
func resets(a *attacker, frames *http2.Framer, head []byte) error {
	for id := uint32(1); a.ctx.Err() == nil && id < 1<<30; id += 2 {
		if err := frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head, EndHeaders: true}); err != nil {
			return err
		}
		if err := frames.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
			return err
		}
	}
	return a.ctx.Err()
}
