package reactor

import (
	"encoding/json"
	"fmt"
)

// Memo is the memo of an operator, which its handlers share with the program that runs
// it. Each object's memo starts as a copy of it. It is safe for concurrent use, and may
// be that of several operators.
//
// Kopf: kopf.operator(memo=…) (v1.45); https://docs.kopf.dev/en/latest/memos/
type Memo struct{ values memo }

// Set stores a value; what others have stored under the key meanwhile is lost.
// An error says that it has no JSON form.
func (m *Memo) Set(key string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = m.values.set(key, text, -1)
	}
	if err != nil {
		return fmt.Errorf("memo %q: %w", key, err)
	}
	return nil
}

// Get reads a value, as encoding/json does. It returns false if there is none.
func (m *Memo) Get(key string, into any) (found bool, err error) {
	text, _, found := m.values.get(key)
	if !found {
		return false, nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return true, fmt.Errorf("memo %q: %w", key, err)
	}
	return true, nil
}
