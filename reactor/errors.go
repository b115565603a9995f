package reactor

import (
	"errors"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// ErrOverLimit is in the errors of what a limit refuses that bounds the memory which the
// host keeps for handlers.
var ErrOverLimit = accounts.ErrLimit

// errCancelled ends a daemon that was cancelled.
var errCancelled = errors.New("cancelled")
