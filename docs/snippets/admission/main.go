// Command admission shows handlers that the API server asks before it stores objects.
package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [handlers]

func init() {
	kopf.OnValidate("kopfexamples", checkSize)
	kopf.OnMutate("kopfexamples", fillIn, kopf.Operations(kopf.Creating))
}

func checkSize(r *kopf.Review) error {
	switch size := r.Spec.Get("size").Int(); {
	case size < 0:
		return kopf.Denied("the size cannot be negative", 422)
	case size > 100:
		r.Warn("large ones take long")
	}
	return nil
}

func fillIn(r *kopf.Review) error {
	if !r.Spec.Has("size") {
		r.Patch.Spec.Set("size", 1)
	}
	return nil
}

// [/handlers]

// [options]

func init() {
	kopf.OnValidate("kopfexamples", reviewDeletion,
		kopf.Operations(kopf.Deleting),
		kopf.Label("protected", "yes"),
		kopf.Persistent())
}

func reviewDeletion(r *kopf.Review) error {
	if r.UserInfo.Get("username").String() != "system:admin" {
		return errors.New("only administrators delete protected objects")
	}
	return nil
}

// [/options]

// [settings]

func init() { kopf.OnStartup(configure) }

func configure(a *kopf.Activity) (any, error) {
	a.Settings.Set("admission.server", kopf.Map{"type": "server", "port": 9443})
	a.Settings.Set("admission.managed", "my-operator.example.com")
	return nil, nil
}

// [/settings]

func main() {}
