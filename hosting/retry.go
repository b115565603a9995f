package hosting

import (
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/hosting/journals"
)

// ErrUnknown says that a host has no declaration with a key.
var ErrUnknown = errors.New("no such operator")

// Retry tries a failed declaration again at once, also one in quarantine. The number of
// failures begins again. An operator that runs as declared continues, unless it does not work: then it starts again.
//
// Errors: ErrUnknown.
func (h *Host) Retry(key Key) error {
	t, err := h.find(key)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.desired.retries++
	t.mu.Unlock()
	t.kick()
	return nil
}

// Journal returns the newest log records of an operator. They stay until its declaration is
// removed.
//
// Errors: ErrUnknown.
func (h *Host) Journal(key Key) (*journals.Journal, error) {
	t, err := h.find(key)
	if err != nil {
		return nil, err
	}
	return &t.journal, nil
}

func (h *Host) find(key Key) (*tenant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tenants[key]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknown, key)
}
