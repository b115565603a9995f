package queueing

import (
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Item is one event in a queue.
type Item struct {
	watching.Event

	// ConsistentAt is the time from which the known state counts as consistent, even if the
	// version of the last patch has not arrived. Zero: no version is expected.
	ConsistentAt time.Time

	// Awaited is the version of the operator's last patch, if its event may not have been
	// handled yet. Empty: none.
	Awaited string

	// Indexed is called after the object of an initial listing has been indexed. It may be
	// nil.
	Indexed func()

	// Standby means that another replica handles the object: it is indexed only.
	Standby bool

	// Lost means that the object belongs to another replica from now on. The item has no body.
	Lost bool

	// Gained is the epoch in which the object was listed, because it may belong to this replica from
	// now on; 0: this is another event. See package membership.
	Gained uint64

	// Again means that the handlers have changed, not the object.
	Again bool

	// Bodiless means that the body must be read again, because the account has refused it.
	Bodiless bool

	arrived time.Time // when it began to wait, or the oldest change that it replaces
	charged int       // bytes in the account while the item waits
}

// itemCost is the approximate memory of an item in addition to its body, in bytes.
const itemCost = 512

// Drop says that nothing indexes the item any more: it is indexed, or it is not handled.
func (it Item) Drop() {
	if it.Indexed != nil {
		it.Indexed()
	}
}

// charge counts the body of a waiting event in the account. If the account refuses it, the
// event waits without its body.
func (qs *Queues) charge(it *Item) {
	size := itemCost + len(it.Object)
	if qs.Account.Take(accounts.Pending, size) == nil {
		it.charged = size
	} else {
		it.Object, it.Bodiless = nil, true
	}
}

// give returns the memory of an item to the account.
func (qs *Queues) give(it *Item) {
	qs.Account.Give(accounts.Pending, it.charged)
	it.charged = 0
}
