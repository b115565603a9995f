package conns

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// relay passes turns on by way of the network poller: the next handshake gets a turn after the runtime has
// looked at the network.
//
// The runtime looks at the network when no goroutine can run, and otherwise every 10 ms. Handshakes that
// pass turns on directly leave no such moment, so connections that have come meanwhile wait.
//
// A goroutine reads while turns are out, and only then: tests in virtual time cannot wait for files.
type relay struct {
	from, to *os.File

	readers sync.WaitGroup // one at most
	reading bool
	closed  bool
}

func newRelay() (*relay, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe for the turns of handshakes: %w", err)
	}
	return &relay{from: from, to: to}, nil
}

// expect says that a turn is out. From now on, turns that are passed on go to take, which returns false when
// all are back. The caller serializes calls of expect and pass, also with take.
func (r *relay) expect(take func(turns int) (more bool)) {
	if r == nil || r.reading || r.closed {
		return
	}
	r.reading = true
	r.readers.Go(func() { // Waited for by wait.
		passed := make([]byte, 256)
		for {
			turns, err := r.from.Read(passed)
			if !take(turns) || err != nil {
				return
			}
		}
	})
}

// pass passes a turn on. It returns false after close.
func (r *relay) pass() bool {
	if r == nil || r.closed {
		return false
	}
	_, err := r.to.Write([]byte{0})
	return err == nil
}

// wait ends the relay after close. The caller does not hold what take needs.
func (r *relay) wait() error {
	err := r.to.Close() // the reader reads what is left
	r.readers.Wait()
	return errors.Join(err, r.from.Close())
}
