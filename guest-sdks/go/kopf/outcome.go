package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// finish calls a handler, and makes the outcome: its result, its error, and its
// patch, which counts also if it failed or panicked. The patch is nil where
// there is no object.
func finish(patch *Patch, call func() (any, error)) guest.Done {
	var done guest.Done
	var err error
	failed := guest.Try(func() {
		var result any
		if result, err = call(); err == nil {
			done.Result, err = resultText(result)
		}
	})
	if patchErr := patch.outcome(&done); err == nil {
		err = patchErr
	}
	if failed == nil {
		failed = wireError(err)
	}
	done.Error = failed
	return done
}

// resultText is a result as JSON; nothing and null are no result.
func resultText(result any) (abi.Raw, error) {
	if result == nil {
		return nil, nil
	}
	text, err := Encode(result)
	if err != nil {
		return nil, PermanentFrom(err, "the result")
	}
	if string(text) == "null" {
		return nil, nil
	}
	return text, nil
}
