package dicts

// What values take in the heap in addition to their texts, in bytes. A table has room for eight members from the first one on.
const (
	heapObject = 352
	heapList   = 40
	heapItem   = 64 // of a list, and a further member of an object
	heapText   = 16
)

// Heap estimates the memory that a decoded document takes, in bytes. Small values take far more than their text: a list of
// objects with one member takes fifty times as much. The text need not be valid.
func Heap(text []byte) int {
	size := len(text)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			size += heapText
			i = endOfText(text, i+1)
		case '{':
			size += heapObject
		case '[':
			size += heapList
		case ',':
			size += heapItem
		}
	}
	return size
}

// endOfText returns the position of the quote that ends a string, or the end of the text.
func endOfText(text []byte, at int) int {
	for ; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}
