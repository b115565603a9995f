package conns

import (
	"fmt"
	"os"
)

// relay passes turns on by way of the network poller: who waits for a turn gets it after the runtime has
// looked at the network.
//
// The runtime looks at the network when no goroutine can run, and otherwise every 10 ms. Handshakes that
// pass turns on directly leave no such moment, so connections that have come meanwhile wait.
type relay struct {
	turns *os.File // nil: every turn is passed on directly
	ended chan struct{}
}

// newRelay calls take with numbers of turns until close.
func newRelay(take func(turns int)) (*relay, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe for the turns of handshakes: %w", err)
	}
	r := &relay{turns: to, ended: make(chan struct{})}
	go func() { // Waited for by close.
		defer close(r.ended)
		defer from.Close()
		passed := make([]byte, 256)
		for {
			turns, err := from.Read(passed)
			if err != nil {
				return
			}
			take(turns)
		}
	}()
	return r, nil
}

// pass passes a turn on. It returns false after close.
func (r *relay) pass() bool {
	if r == nil {
		return false
	}
	_, err := r.turns.Write([]byte{0})
	return err == nil
}

func (r *relay) close() error {
	err := r.turns.Close()
	<-r.ended
	return err
}
