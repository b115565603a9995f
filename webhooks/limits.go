package webhooks

import (
	"cmp"
	"time"

	"github.com/kopf-wasm/kopf/reactor/conns"
)

// Limits bound the cost of requests. The zero value is valid.
type Limits struct {
	// Body bounds a review, and one object of a conversion, in bytes. The default of 8 MiB
	// fits two objects of the largest size that the API server accepts (3 MiB).
	Body int64

	// Concurrent is the number of slots for requests that are handled at once. A request
	// takes one slot for each 32 KiB, at most three quarters of all slots. It takes them
	// after it has been read, and waits for them until its deadline. Default: 256.
	Concurrent int

	// Waiting bounds the requests that wait for slots. Beyond it, the client with the most of
	// them loses its oldest one, which is refused. Default: 1,024.
	Waiting int

	// Conversion bounds a conversion request in bytes, because one request may hold all
	// objects of a listing. Conversions bounds the requests at once. Defaults: 64 MiB, 8
	// requests.
	Conversion  int64
	Conversions int

	// Memory bounds the bodies of all admission reviews from their first byte to the answer,
	// in bytes. A second bound of equal size applies to conversions, and a third one, of at
	// least four times Conversion, to answers that are being sent. When the memory is full, the
	// oldest unread body of the client with the most memory is dropped, or its oldest answer.
	// Default: 128 MiB.
	Memory int64

	// ReadTimeout bounds the time to read the body of a request, in addition to the timeout
	// of the request. Default: 10 seconds.
	ReadTimeout time.Duration

	// Timeout bounds a request, also one that announces a longer timeout. Default: 30
	// seconds, the maximum of Kubernetes.
	Timeout time.Duration

	// Connections bound the connections of the servers of this package: all connections,
	// those of one address, and those that have not delivered a review. Defaults: 2,048 in
	// all, half of it for one address, and half of it without a review. The last bound is a
	// quarter if clients must present certificates.
	Connections conns.Limits
}

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, 8<<20)
	l.Concurrent = cmp.Or(l.Concurrent, 256)
	l.Waiting = cmp.Or(l.Waiting, 1024)
	l.Conversion = cmp.Or(l.Conversion, 64<<20)
	l.Conversions = cmp.Or(l.Conversions, 8)
	l.Memory = cmp.Or(l.Memory, 128<<20)
	l.ReadTimeout = cmp.Or(l.ReadTimeout, 10*time.Second)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	return l
}

// slotBytes is the request size that one slot covers. A decoded request may take 100 times
// as much memory.
const slotBytes = 32 << 10

// answersOf is the memory of all answers that are being sent: at least that of the largest answers of two conversions.
func answersOf(l Limits) int64 { return max(l.Memory, 2*copiesOfAnswer*l.Conversion) }
