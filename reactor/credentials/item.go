package credentials

import "sync"

// Item is one of the credentials in a vault.
type Item struct {
	Info
	fingerprint fingerprint // computed at the login, because files may change
	gone        chan struct{}

	mu      sync.Mutex // guards the fields below
	last    int        // number of the latest function
	waiting map[int]func()
}

func newItem(info Info) *Item {
	return &Item{Info: info, fingerprint: info.fingerprint(), gone: make(chan struct{}), waiting: map[int]func(){}}
}

// Gone is closed when the credentials must no longer be used.
func (i *Item) Gone() <-chan struct{} { return i.gone }

// WhenGone calls a function when Gone is closed, or at once if it is closed already, unless
// remove is called before. The function must not block. Waiting costs no goroutine.
func (i *Item) WhenGone(do func()) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		do()
		return func() {}
	}
	i.last++
	number := i.last
	i.waiting[number] = do
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.waiting, number)
	}
}

// leave closes Gone.
func (i *Item) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.gone)
	for _, do := range i.waiting {
		do()
	}
	i.waiting = nil
}
