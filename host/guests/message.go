package guests

import "github.com/kopf-wasm/kopf/abi"

// Message is a message to an export.
type Message struct {
	Task   uint32 // the first parameter of the export; 0: it has no such parameter
	Text   []byte // JSON
	Framed bool   // Text is the header of a frame
	Body   []byte // of the object, in a frame; empty: no object
}

// Size returns the number of bytes that Append appends.
func (m *Message) Size() int {
	switch {
	case !m.Framed:
		return len(m.Text)
	case len(m.Body) == 0:
		return abi.FrameSize(m.header())
	}
	return abi.FrameSize(m.header(), m.body())
}

// Append appends the message as guests with a linear memory and native programs read it.
func (m *Message) Append(buf []byte) []byte {
	switch {
	case !m.Framed:
		return append(buf, m.Text...)
	case len(m.Body) == 0:
		return abi.AppendFrame(buf, m.header())
	}
	return abi.AppendFrame(buf, m.header(), m.body())
}

func (m *Message) header() abi.Segment { return abi.Segment{Tag: abi.TagHeader, Data: m.Text} }

func (m *Message) body() abi.Segment { return abi.Segment{Tag: abi.TagBody, Data: m.Body} }
