// Command authentication shows login handlers.
package main

import (
	"cmp"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [own]

func init() {
	kopf.OnLogin(login, kopf.Retries(3))
}

func login(a *kopf.Activity) (any, error) {
	return cmp.Or(kopf.LoginWithServiceAccount(a), kopf.LoginWithKubeconfig(a)), nil
}

// [/own]

// [data]

func init() {
	kopf.OnLogin(token)
}

func token(a *kopf.Activity) (any, error) {
	return kopf.ConnectionInfo{
		Token:      kopf.Config("token"),
		Priority:   5,
		Expiration: time.Now().Add(time.Hour),
	}, nil
}

// [/data]

func main() {}
