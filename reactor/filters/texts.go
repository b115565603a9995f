package filters

import (
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Texts keeps values of one subject in JSON. Thousands of handlers may ask about one field, and
// the field may be most of the object. The zero value keeps nothing.
type Texts struct {
	Most int // bytes

	known map[string]abi.Raw
	size  int
}

// of returns a value of a check in JSON.
func (t *Texts) of(c check, o observed) abi.Raw {
	key := string(rune(o.of)) + strings.Join(c.path, "\x00")
	if c.path == nil {
		key = c.option + "\x00" + c.key
	}
	if text, ok := t.known[key]; ok {
		return text
	}
	text := dicts.Encode(o.value)
	if t.size += len(text); t.size > t.Most || t.known == nil {
		t.known, t.size = map[string]abi.Raw{}, len(text)
	}
	if t.size <= t.Most {
		t.known[key] = text
	}
	return text
}
