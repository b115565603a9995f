package native

import (
	"fmt"
	"io"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
)

// Message is a message on the connection between the host and a program.
type Message struct {
	abi.MessageHeader
	Data []byte
}

// Read reads a message.
//
// Errors: guests.ErrMessage for a message of more than abi.MaxMessage bytes, and those of the
// reader.
func Read(from io.Reader) (Message, error) {
	var header [abi.MessageHeaderSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return Message{}, err
	}
	m := Message{MessageHeader: abi.ParseMessageHeader(header)}
	if m.Size > abi.MaxMessage {
		return Message{}, fmt.Errorf("%w: it has %d bytes, the limit is %d", guests.ErrMessage, m.Size, abi.MaxMessage)
	}
	m.Data = make([]byte, m.Size)
	_, err := io.ReadFull(from, m.Data)
	return m, err
}

// Write writes a message, in one write.
func Write(to io.Writer, kind abi.MessageKind, task uint32, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	text := make([]byte, 0, abi.MessageHeaderSize+size)
	text = abi.MessageHeader{Kind: kind, Task: task, Size: uint32(size)}.Append(text)
	for _, part := range parts {
		text = append(text, part...)
	}
	_, err := to.Write(text)
	return err
}
