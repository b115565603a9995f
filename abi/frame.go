package abi

// Segment is one tagged part of a frame.
type Segment struct {
	Tag  uint32
	Data []byte
}

// segmentHeader is the size of the tag and the length before the data.
const segmentHeader = 8

// AppendFrame appends the segments to a buffer: of each, the tag and the length
// as little-endian 32-bit numbers, then the data.
func AppendFrame(buf []byte, segments ...Segment) []byte {
	for _, s := range segments {
		buf = appendUint32(buf, s.Tag)
		buf = appendUint32(buf, uint32(len(s.Data)))
		buf = append(buf, s.Data...)
	}
	return buf
}

// FrameSize returns the number of bytes that AppendFrame appends.
func FrameSize(segments ...Segment) int {
	size := 0
	for _, s := range segments {
		size += segmentHeader + len(s.Data)
	}
	return size
}

// FindSegment returns the first segment with the tag. It returns nil without such a
// segment, and ErrFrame if the frame is cut before it.
func FindSegment(frame []byte, tag uint32) ([]byte, error) {
	for len(frame) > 0 {
		if len(frame) < segmentHeader {
			return nil, ErrFrame
		}
		found, size := uint32At(frame, 0), uint32At(frame, 4)
		rest := frame[segmentHeader:]
		if uint64(size) > uint64(len(rest)) {
			return nil, ErrFrame
		}
		if found == tag {
			return rest[:size:size], nil
		}
		frame = rest[size:]
	}
	return nil, nil
}

func appendUint32(buf []byte, v uint32) []byte {
	return append(buf, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func uint32At(b []byte, i int) uint32 {
	return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
}
