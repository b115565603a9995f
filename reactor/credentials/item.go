package credentials

import "github.com/kopf-wasm/kopf/reactor/signals"

// Item is one of the credentials in a vault.
type Item struct {
	Info
	fingerprint fingerprint // computed at the login, because files may change
	gone        *signals.Signal
}

func newItem(info Info) *Item {
	return &Item{Info: info, fingerprint: info.fingerprint(), gone: signals.New()}
}

// Gone is closed when the credentials must no longer be used.
func (i *Item) Gone() <-chan struct{} { return i.gone.Given() }

// WhenGone calls a function when Gone is closed, or at once if it is closed already, unless
// remove is called before. The function must not block. Waiting costs no goroutine.
func (i *Item) WhenGone(do func()) (remove func()) { return i.gone.When(do) }

// leave closes Gone.
func (i *Item) leave() { i.gone.Give() }
