package wasi

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/host/imports"
)

// Layout of subscriptions and events of poll_oneoff.
const (
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	clockAbsolute    = 1 // a flag
	maxSubscriptions = 1024
)

// poll is poll_oneoff(in, out, count, ptr). It waits for clocks. Streams are always
// ready: standard input is at its end, and the output streams accept everything.
func poll(p Process, stack []uint64) {
	in, out, count := imports.U32(stack, 0), imports.U32(stack, 1), imports.U32(stack, 2)
	if count == 0 || count > maxSubscriptions {
		stack[0] = errnoInval
		return
	}
	view, found := p.Memory().Read(in, count*subscriptionSize)
	if !found {
		stack[0] = errnoFault
		return
	}
	subscriptions := slices.Clone(view) // the events may be written to the same place
	waits := make([]time.Duration, count)
	for i := range waits {
		waits[i] = remaining(p.Clock(), subscriptions[i*subscriptionSize:])
	}
	wait := slices.Min(waits)
	if wait > 0 {
		p.Sleep(wait)
	}
	n := uint32(0)
	for i, w := range waits {
		if w > wait {
			continue
		}
		s := subscriptions[i*subscriptionSize:]
		var event [eventSize]byte
		copy(event[:8], s[:8]) // the user's data
		event[10] = s[8]       // the type
		if !p.Memory().Write(out+n*eventSize, event[:]) {
			stack[0] = errnoFault
			return
		}
		n++
	}
	stack[0] = fault(p.Memory().WriteUint32Le(imports.U32(stack, 3), n))
}

// remaining is the remaining time of a subscription.
func remaining(c *Clock, s []byte) time.Duration {
	if s[8] != eventClock {
		return 0
	}
	timeout := binary.LittleEndian.Uint64(s[24:])
	if binary.LittleEndian.Uint16(s[40:])&clockAbsolute != 0 {
		now := uint64(max(0, c.read(binary.LittleEndian.Uint32(s[16:]))))
		timeout -= min(timeout, now)
	}
	return time.Duration(min(timeout, math.MaxInt64))
}
