package abi

// Messages between a host and a guest that runs natively, see SPEC.md, "Native guests".
// Each is a MessageHeader and the data, whose size is in the header.

// MessageKind is the kind of a message.
type MessageKind byte

// From the host: calls, named like the exports, and the results of functions.
const (
	MessageRegister MessageKind = iota + 1
	MessageStart
	MessageResume
	MessageCancel
	MessageRelease
	MessageAsk
	MessageTransform
	MessageResult // data: the result as a number of 8 bytes, then the output
)

// From the guest: the ends of calls, and functions, named like the imports. The data are
// their arguments in order: numbers little-endian, the last text or output without a length.
const (
	MessageAnswer   MessageKind = iota + 0x10 // of the call
	MessagePanicked                           // the call has failed: a text
	MessageLog                                // level u32, text
	MessageSegment                            // tag u32
	MessageStopped                            //
	MessageConfig                             // key
	MessageRandom                             // length u32
	MessageEvent                              // event
	MessageMemoGet                            // scope u32, key
	MessageMemoSet                            // scope u32, version i64, length of the key u32, key, value
	MessageIndex                              // op u32, length of the name u32, name, key
	MessageCall                               // call
)

// MessageHeader begins a message.
type MessageHeader struct {
	Kind MessageKind
	Task uint32
	Size uint32 // of the data
}

// MessageHeaderSize is the size of a header, in bytes.
const MessageHeaderSize = 9

// MaxMessage bounds the data of a message, in bytes.
const MaxMessage = 64 << 20

// Append appends the encoded header: the kind, and two little-endian numbers.
func (h MessageHeader) Append(buf []byte) []byte {
	return appendUint32(appendUint32(append(buf, byte(h.Kind)), h.Task), h.Size)
}

// ParseMessageHeader decodes a header.
func ParseMessageHeader(data [MessageHeaderSize]byte) MessageHeader {
	return MessageHeader{MessageKind(data[0]), uint32At(data[:], 1), uint32At(data[:], 5)}
}
