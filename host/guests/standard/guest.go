// Package standard is the kind of guests that the SDKs make: messages and arguments of host
// functions lie in the linear memory of the guest.
//
// See abi/SPEC.md, "Exports" and "Host functions".
package standard

import (
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
)

// guest is any number of instances: all their state is in their memory.
type guest struct {
	messageLimit int
}

// New returns the guest of all instances of a module. The limit bounds an answer, in bytes.
func New(messageLimit int) guests.Guest { return &guest{messageLimit} }

// Initializers implements guests.Guest.
func (g *guest) Initializers(func(string) bool) []guests.Initializer {
	return []guests.Initializer{{Name: abi.ExportInitialize}}
}

// Exchange implements guests.Guest. The answer is a view of the guest's memory.
func (g *guest) Exchange(c guests.Call, m guests.Message) ([]byte, error) {
	size := m.Size()
	ptr, err := send(c, &m, size)
	if err != nil {
		return nil, err
	}
	var result uint64
	if m.Task == 0 {
		result, err = c.Run(c.Export(), ptr, uint64(size))
	} else {
		result, err = c.Run(c.Export(), uint64(m.Task), ptr, uint64(size))
	}
	if err != nil {
		return nil, err
	}
	return g.receive(c, result)
}

// Tell implements guests.Guest.
func (g *guest) Tell(c guests.Call, task uint32) error {
	_, err := c.Run(c.Export(), uint64(task))
	return err
}

// send writes a message into memory that the guest allocates, and returns its address.
func send(c guests.Call, m *guests.Message, size int) (uint64, error) {
	ptr, err := c.Run(abi.ExportAlloc, uint64(size))
	if err != nil {
		return 0, err
	}
	if ptr == 0 {
		return 0, c.Fail(fmt.Errorf("%w: no memory for a message of %d bytes", guests.ErrMemory, size))
	}
	view, found := c.Memory().Read(uint32(ptr), uint32(size))
	if !found {
		return 0, c.Fail(fmt.Errorf("%w: %s returned an address outside of the memory", guests.ErrMessage, abi.ExportAlloc))
	}
	m.Append(view[:0:size])
	return ptr, nil
}

// receive returns the message at the address and length in a result.
func (g *guest) receive(c guests.Call, result uint64) ([]byte, error) {
	ptr, size := uint32(result>>32), uint32(result)
	if uint64(size) > uint64(g.messageLimit) {
		return nil, c.Fail(fmt.Errorf("%w: it has %d bytes, the limit is %d", guests.ErrMessage, size, g.messageLimit))
	}
	view, found := c.Memory().Read(ptr, size)
	if !found {
		return nil, c.Fail(fmt.Errorf("%w: it lies outside of the memory", guests.ErrMessage))
	}
	return view, nil
}
