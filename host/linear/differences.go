package linear

import "encoding/binary"

// differences are the parts of a memory that differ from another one, in words of eight
// bytes: each with the number of words between the end of the one before and its beginning,
// and with its length, in two bytes each.
type differences struct {
	out []byte
	end int // of the last part, as an address
}

const (
	word       = 8
	partHeader = 4
	maxGap     = 0xffff * word
)

// add adds those of a part of the memory at an address; it must be behind the one before.
func (d *differences) add(address int, is, was []byte) {
	for at := 0; ; {
		for at < len(is) && sameWord(is[at:], was[at:]) {
			at += word
		}
		if at == len(is) {
			return
		}
		begin := at
		for at < len(is) && !sameWord(is[at:], was[at:]) {
			at += word
		}
		d.part(address+begin, is[begin:at])
	}
}

func sameWord(is, was []byte) bool {
	return binary.LittleEndian.Uint64(is) == binary.LittleEndian.Uint64(was)
}

// part adds one that is not longer than a page.
func (d *differences) part(address int, bytes []byte) {
	for ; address-d.end > maxGap; d.end += maxGap {
		d.out = append(d.out, 0xff, 0xff, 0, 0)
	}
	gap, length := uint16((address-d.end)/word), uint16(len(bytes)/word)
	d.out = append(d.out, byte(gap), byte(gap>>8), byte(length), byte(length>>8))
	d.out = append(d.out, bytes...)
	d.end = address + len(bytes)
}

// apply makes a memory from the other one and what differs.
func apply(memory, parts []byte) {
	for at := 0; len(parts) > 0; {
		at += int(binary.LittleEndian.Uint16(parts)) * word
		end := partHeader + int(binary.LittleEndian.Uint16(parts[2:]))*word
		at += copy(memory[at:], parts[partHeader:end])
		parts = parts[end:]
	}
}
