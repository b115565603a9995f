// Package accounts counts the memory that the host uses for the handlers of one operator,
// and enforces limits. Handlers that store without end therefore fail, instead of the
// process or another operator.
//
// Sizes estimate the heap memory of the values: their texts, and a fixed amount for each
// table entry.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Kind is a use of memory.
type Kind int

// The kinds, each with its own limit.
const (
	Memos    Kind = iota // values of memos
	Indices              // keys and values of indices
	Pending              // bodies of objects whose events are queued or handled
	Bodies               // the newest bodies of objects with daemons and timers
	Children             // sub-handlers that were declared in unfinished cycles
	Patches              // patches, results and errors of handlers in unfinished cycles
	Answers              // requests of handlers, and the responses until the handlers receive them
	Reviews              // decoded objects of admission and conversion requests, until these are answered
	kinds
)

// known holds the names of the kinds in metrics, limits and errors.
var known = [kinds]struct{ name, limit, holds, advice string }{
	Memos:    {"memos", "MemoMemory", "the memos", "store fewer or smaller values"},
	Indices:  {"indices", "IndexMemory", "the indices", "index fewer or smaller keys and values"},
	Pending:  {"pending", "PendingMemory", "the bodies of objects that wait or are handled", "let handlers take less time"},
	Bodies:   {"bodies", "BodyMemory", "daemons, timers and the bodies of their objects", "run fewer of them, or for fewer objects"},
	Children: {"children", "ChildMemory", "the sub-handlers", "declare fewer of them"},
	Patches:  {"patches", "PatchMemory", "the patches and results of handlers", "make them smaller"},
	Answers:  {"answers", "AnswerMemory", "the requests and the answers to them", "make fewer requests at the same time, or list in pages"},
	Reviews:  {"reviews", "ReviewMemory", "the objects of admission and conversion requests", "send smaller ones, or fewer at the same time"},
}

// String returns the name of the kind in metrics.
func (k Kind) String() string { return known[k].name }

// Limit returns the name of the kind's limit.
func (k Kind) Limit() string { return known[k].limit }

// Limits bound the memory of one operator. Zero fields have the defaults. All fields except
// MaxChildren are in bytes.
type Limits struct {
	// MemoLimit bounds one memo: that of an object, or that of the operator. Default: 16 MiB.
	MemoLimit int

	// MemoMemory bounds all memos together. Default: 256 MiB.
	MemoMemory int

	// IndexMemory bounds all indices together. Default: 1 GiB.
	IndexMemory int

	// PendingMemory bounds the bodies of objects whose events are queued or handled. Beyond it, only
	// the identity of an object is queued, and the body is read again. Default: 256 MiB.
	PendingMemory int

	// BodyMemory bounds the daemons and timers, at 8 KiB each, or 64 bytes after their end, and the newest bodies of their objects. Objects
	// beyond it get their bodies later. Default: 512 MiB.
	BodyMemory int

	// MaxChildren bounds the sub-handlers that one call of a handler declares.
	// Default: 10,000.
	MaxChildren int

	// ChildMemory bounds the sub-handlers of all unfinished cycles. Default: 256 MiB.
	ChildMemory int

	// PatchMemory bounds the patches, results and errors that handlers have returned
	// in unfinished cycles. Default: 256 MiB.
	PatchMemory int

	// AnswerMemory bounds the bodies of requests that have no response yet, and what has arrived of responses that handlers have not yet received.
	// Default: 256 MiB.
	AnswerMemory int

	// ReviewMemory bounds what the objects of admission and conversion requests take while
	// they are decoded. Requests wait for it. Default: 256 MiB. All operators of the process
	// have 1 GiB together, or as much as the largest ReviewMemory of one of them. Those of one Tenant
	// have half of it at most.
	ReviewMemory int
}

// WithDefaults replaces zero fields by the defaults.
func (l Limits) WithDefaults() Limits {
	l = l.WithPart(1)
	l.MemoLimit, l.MaxChildren = cmp.Or(l.MemoLimit, 16<<20), cmp.Or(l.MaxChildren, 10_000)
	return l
}

// least is the lowest default, in bytes, whatever its part: one object has up to 3 MiB.
const least = 8 << 20

// WithPart replaces the zero fields of what an operator may have altogether by a part of their defaults.
func (l Limits) WithPart(part float64) Limits {
	for _, field := range []struct {
		at    *int
		value int
	}{
		{&l.MemoMemory, 256 << 20},
		{&l.IndexMemory, 1 << 30},
		{&l.PendingMemory, 256 << 20},
		{&l.BodyMemory, 512 << 20},
		{&l.ChildMemory, 256 << 20},
		{&l.PatchMemory, 256 << 20},
		{&l.AnswerMemory, 256 << 20},
		{&l.ReviewMemory, 256 << 20},
	} {
		if *field.at == 0 {
			*field.at = max(least, int(part*float64(field.value)))
		}
	}
	return l
}

func (l Limits) of() [kinds]int {
	return [kinds]int{
		Memos: l.MemoMemory, Indices: l.IndexMemory, Pending: l.PendingMemory, Bodies: l.BodyMemory,
		Children: l.ChildMemory, Patches: l.PatchMemory, Answers: l.AnswerMemory, Reviews: l.ReviewMemory,
	}
}

// ErrLimit wraps all errors of accounts.
var ErrLimit = errors.New("over a limit")

// Error describes a refused use of memory.
type Error struct {
	Kind   Kind
	Limit  int // bytes
	Used   int // bytes, without the refused ones
	Wanted int // refused bytes

	// Process means that all operators of the process together have reached their limit, and
	// that Used is theirs. Tenant means the same of those of one tenant.
	Process, Tenant bool
}

// Error returns a text with the limit, its value, and what to do.
func (e *Error) Error() string {
	k := known[e.Kind]
	if e.Process || e.Tenant {
		of := "process"
		if e.Tenant {
			of = "namespace"
		}
		return fmt.Sprintf("the limit of %d bytes for all operators of the %s is reached: %s take %d bytes, and %d more were refused: %s",
			e.Limit, of, k.holds, e.Used, e.Wanted, k.advice)
	}
	return fmt.Sprintf("the limit %s of %d bytes is reached: %s of the operator take %d bytes, and %d more were refused: %s, or raise the limit with --limit %s=SIZE",
		k.limit, e.Limit, k.holds, e.Used, e.Wanted, k.advice, k.limit)
}

// Unwrap returns ErrLimit.
func (e *Error) Unwrap() error { return ErrLimit }

// Account counts the memory of one operator. It is safe for concurrent use, and lock-free. A
// nil account counts nothing and refuses nothing.
type Account struct {
	limits  Limits
	entries [kinds]entry
	process *process // of Reviews

	// Charge is what the operator has of what its tenant may have. It must be set before the account is used. Nil: the operators of the
	// process trust each other.
	Charge *Charge

	// Refused is called with the error of a refusal, at most once per minute for each kind.
	// It must be set before the account is used. It may be nil. It must not refer to owners of leases: these would never be
	// freed.
	Refused func(error)
}

// entry counts one kind.
type entry struct {
	limit   int64
	used    atomic.Int64
	refused atomic.Int64
	noted   atomic.Int64 // time of the last call of Refused, in nanoseconds; 0: never
	_       [32]byte     // gives each kind its own cache line
}

// New creates an account. Zero limits have their defaults.
func New(l Limits) *Account {
	a := &Account{limits: l.WithDefaults(), process: reviewing}
	for kind, limit := range a.limits.of() {
		a.entries[kind].limit = int64(limit)
	}
	return a
}

// Limits returns the limits with the defaults. The limits of a nil account are large enough
// to refuse nothing.
func (a *Account) Limits() Limits {
	if a == nil {
		const most = 1 << 62
		return Limits{most, most, most, most, most, most, most, most, most, most}
	}
	return a.limits
}

// Charged is what the operator has of what its tenant may have; nil: it shares nothing.
func (a *Account) Charged() *Charge {
	if a == nil {
		return nil
	}
	return a.Charge
}

// Take counts more bytes. The caller must give them back.
//
// Errors: Error or BudgetError, without counting.
func (a *Account) Take(k Kind, bytes int) error {
	if a == nil || bytes <= 0 {
		a.Give(k, -bytes)
		return nil
	}
	if err := a.try(k, bytes); err != nil {
		return a.Refuse(k, err)
	}
	return nil
}

// garbage is how much of a budget a byte of an account takes: what is not in use any more stays in memory until it is collected, which is
// when there is as much of it as of what is in use.
const garbage = 2

// try is Take for more than no bytes, without counting a refusal.
func (a *Account) try(k Kind, bytes int) error {
	e := &a.entries[k]
	if used, ok := AddWithin(e.limit, &e.used, int64(bytes)); !ok {
		return &Error{Kind: k, Limit: int(e.limit), Used: int(used), Wanted: bytes}
	}
	err := a.Charge.Take(garbage * int64(bytes))
	if err == nil && k == Reviews {
		if err = a.tryReviews(bytes); err != nil {
			a.Charge.Give(garbage * int64(bytes))
		}
	}
	if err != nil {
		e.used.Add(-int64(bytes))
	}
	return err
}

// tryReviews is try for the bounds that operators have together.
func (a *Account) tryReviews(bytes int) error {
	own := a.entries[Reviews].limit
	most, limit := max(own, a.process.limit/2), max(own, a.process.limit)
	if used, ok := a.Charge.takeReviews(most, int64(bytes)); !ok {
		return &Error{Kind: Reviews, Limit: int(most), Used: int(used), Wanted: bytes, Tenant: true}
	}
	if used, ok := AddWithin(limit, &a.process.used, int64(bytes)); !ok {
		a.Charge.giveReviews(int64(bytes))
		return &Error{Kind: Reviews, Limit: int(limit), Used: int(used), Wanted: bytes, Process: true}
	}
	return nil
}

// AddWithin adds to a counter, unless the sum exceeds the limit, and returns what the counter was
// before. What is refused is not counted for a moment either: it would refuse what others want
// meanwhile.
func AddWithin(limit int64, to *atomic.Int64, more int64) (before int64, ok bool) {
	for {
		before = to.Load()
		if more > limit-before {
			return before, false
		}
		if to.CompareAndSwap(before, before+more) {
			return before, true
		}
	}
}

// scarce is how long Await waits before it looks again for room in a budget.
const scarce = 100 * time.Millisecond

// Await is Take for Reviews that waits for others to give back bytes, until the context ends.
//
// Errors: Error, BudgetError. If more bytes are wanted than the limit, it does not wait.
func (a *Account) Await(ctx context.Context, bytes int) error {
	if a == nil || bytes <= 0 {
		return a.Take(Reviews, bytes)
	}
	if err := a.try(Reviews, bytes); err == nil {
		return nil
	}
	a.process.waiting.Add(1)
	defer a.process.waiting.Add(-1)
	for {
		given := a.process.given()
		err := a.try(Reviews, bytes)
		switch {
		case err == nil:
			return nil
		case int64(bytes) > a.entries[Reviews].limit:
			return a.Refuse(Reviews, err)
		}
		select {
		case <-given:
		case <-time.After(scarce): // a budget has room again whenever anything is given back to it
		case <-ctx.Done():
			return a.Refuse(Reviews, err)
		}
	}
}

// Refuse counts a refusal by another limit of the kind, such as that of one memo. It returns
// the error.
func (a *Account) Refuse(k Kind, err error) error {
	if a == nil {
		return err
	}
	e := &a.entries[k]
	e.refused.Add(1)
	if a.Refused != nil {
		now, last := time.Now().UnixNano(), e.noted.Load()
		if (last == 0 || now-last > int64(time.Minute)) && e.noted.CompareAndSwap(last, now) {
			a.Refused(err)
		}
	}
	return err
}

// Give gives back bytes.
func (a *Account) Give(k Kind, bytes int) {
	if a == nil || bytes == 0 {
		return
	}
	a.entries[k].used.Add(-int64(bytes))
	a.Charge.Give(garbage * int64(bytes))
	if k == Reviews {
		a.Charge.giveReviews(int64(bytes))
		a.process.give(bytes)
	}
}

// Usage is the state of one kind.
type Usage struct {
	Kind    Kind
	Used    int // bytes
	Limit   int // bytes
	Refused int // number of refusals so far
}

// Usage returns the state of all kinds, in their order.
func (a *Account) Usage() []Usage {
	if a == nil {
		return nil
	}
	all := make([]Usage, kinds)
	for k := range all {
		e := &a.entries[k]
		all[k] = Usage{Kind(k), int(e.used.Load()), int(e.limit), int(e.refused.Load())}
	}
	return all
}

// Lease is the memory that one owner has taken. A nil lease takes nothing, and refuses
// nothing. It belongs to one goroutine at a time.
type Lease struct {
	account *Account
	kind    Kind
	bytes   int
}

// NewLease creates an empty lease. It is released at the latest when nothing refers to the
// owner any more. An owner that knows its end should release the lease earlier. It returns
// nil for a nil account.
func NewLease[T any](a *Account, k Kind, owner *T) *Lease {
	if a == nil {
		return nil
	}
	l := Open(a, k)
	runtime.AddCleanup(owner, (*Lease).Release, l)
	return l
}

// Open creates an empty lease, which the caller must release. It returns nil for a nil account.
func Open(a *Account, k Kind) *Lease {
	if a == nil {
		return nil
	}
	return &Lease{account: a, kind: k}
}

// Await returns a lease with bytes for Reviews, which the caller must release. See Account.Await.
func Await(ctx context.Context, a *Account, bytes int) (*Lease, error) {
	if a == nil {
		return nil, nil
	}
	if err := a.Await(ctx, bytes); err != nil {
		return nil, err
	}
	return &Lease{account: a, kind: Reviews, bytes: bytes}, nil
}

// Resize takes or gives back bytes to reach the size.
//
// Errors: Error; the lease is then unchanged.
func (l *Lease) Resize(bytes int) error {
	if l == nil {
		return nil
	}
	if err := l.account.Take(l.kind, bytes-l.bytes); err != nil {
		return err
	}
	l.bytes = bytes
	return nil
}

// Grow takes more bytes, or gives back bytes if the number is negative. See Resize.
func (l *Lease) Grow(bytes int) error {
	if l == nil {
		return nil
	}
	return l.Resize(l.bytes + bytes)
}

// Size is what the lease has, in bytes.
func (l *Lease) Size() int {
	if l == nil {
		return 0
	}
	return l.bytes
}

// Release gives back everything. It may be called repeatedly.
func (l *Lease) Release() { _ = l.Resize(0) } // giving back is never refused
