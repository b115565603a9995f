//go:build wasip1

package guest

import "runtime"

// wasmHost asks the real host.
type wasmHost struct{}

// firstRead is the size in bytes of the buffer that outputs are first tried with.
const firstRead = 4 << 10

// scratch is that buffer. Nothing else of the guest runs while the host writes to it.
var scratch []byte

// versionSize is the size of the version before the value of a memo.
const versionSize = 8

// read calls a host function with an output, again with a larger buffer if needed.
func read(call func(ptr, size uint32) int64) ([]byte, error) {
	if scratch == nil {
		scratch = make([]byte, firstRead)
	}
	buf := scratch
	for {
		n := call(span(buf))
		runtime.KeepAlive(buf)
		switch {
		case n < 0:
			return nil, Errno(n)
		case n > int64(len(buf)):
			buf = make([]byte, n)
		case len(buf) == firstRead:
			return append([]byte(nil), buf[:n]...), nil
		default:
			return buf[:n:n], nil
		}
	}
}

// errno is the error behind a number that may be one.
func errno[T int32 | int64](n T) error {
	if n < 0 {
		return Errno(n)
	}
	return nil
}

func (wasmHost) Log(task uint32, level int, text string) {
	ptr, size := span(bytesOf(text))
	hostLog(task, uint32(level), ptr, size)
	runtime.KeepAlive(text)
}

func (wasmHost) Segment(task uint32, tag int) ([]byte, error) {
	return read(func(ptr, size uint32) int64 { return hostSegment(task, uint32(tag), ptr, size) })
}

func (wasmHost) Stopped(task uint32) int { return int(hostStopped(task)) }

func (wasmHost) Config(key string) (string, error) {
	keyPtr, keySize := span(bytesOf(key))
	value, err := read(func(ptr, size uint32) int64 { return hostConfig(keyPtr, keySize, ptr, size) })
	runtime.KeepAlive(key)
	return string(value), err
}

func (wasmHost) Random(buf []byte) error {
	n := hostRandom(span(buf))
	runtime.KeepAlive(buf)
	return errno(n)
}

func (wasmHost) Event(task uint32, event []byte) error {
	ptr, size := span(event)
	n := hostEvent(task, ptr, size)
	runtime.KeepAlive(event)
	return errno(n)
}

func (wasmHost) MemoGet(task uint32, scope int, key string) (int64, []byte, error) {
	keyPtr, keySize := span(bytesOf(key))
	data, err := read(func(ptr, size uint32) int64 {
		return hostMemoGet(task, uint32(scope), keyPtr, keySize, ptr, size)
	})
	runtime.KeepAlive(key)
	if err != nil || len(data) < versionSize {
		return 0, nil, err
	}
	return versionOf(data), data[versionSize:], nil
}

// versionOf reads a number of 64 bits, little-endian.
func versionOf(data []byte) int64 {
	var version uint64
	for i := versionSize - 1; i >= 0; i-- {
		version = version<<8 | uint64(data[i])
	}
	return int64(version)
}

func (wasmHost) MemoSet(task uint32, scope int, key string, value []byte, version int64) (int64, error) {
	keyPtr, keySize := span(bytesOf(key))
	ptr, size := span(value)
	n := hostMemoSet(task, uint32(scope), keyPtr, keySize, ptr, size, version)
	runtime.KeepAlive(key)
	runtime.KeepAlive(value)
	return n, errno(n)
}

func (wasmHost) Index(task uint32, op int, name string, key []byte) ([]byte, error) {
	namePtr, nameSize := span(bytesOf(name))
	keyPtr, keySize := span(key)
	answer, err := read(func(ptr, size uint32) int64 {
		return hostIndex(task, uint32(op), namePtr, nameSize, keyPtr, keySize, ptr, size)
	})
	runtime.KeepAlive(name)
	runtime.KeepAlive(key)
	return answer, err
}
