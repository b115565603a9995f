package registration

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// What a registration takes in memory, in bytes: measured, and rounded up.
const (
	textsSize   = 2 // for each byte of the text: the text itself, and what was decoded
	handlerSize = 1800
	valueSize   = 140
)

// Size returns how much memory a registration takes that was parsed, in bytes: its text, the handlers, and the registry that an operator
// makes of them. It is many times the size of the text if that has little but short values.
func Size(data []byte, r *abi.Registration) int64 {
	return int64(textsSize*len(data) + handlerSize*len(r.Handlers) + valueSize*bounded.Values(data))
}
