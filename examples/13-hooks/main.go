// Command 13-hooks shows the life of an operator: it prepares itself, logs in,
// reports its health, and says good-bye.
package main

import (
	"cmp"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnStartup(prepare, kopf.ID("prepare"), kopf.Retries(3))
	kopf.OnLogin(login, kopf.ID("login"), kopf.Retries(3))
	kopf.OnProbe(now, kopf.ID("now"))
	kopf.OnProbe(handled, kopf.ID("handled"))
	kopf.OnCleanup(goodbye, kopf.ID("goodbye"))
	kopf.OnCreate("kopfexamples", create, kopf.ID("create"))
}

func prepare(a *kopf.Activity) (any, error) {
	a.Settings.Set("execution.default_backoff", 10*time.Second)
	return nil, a.Memo.Set("handled", 0)
}

func login(a *kopf.Activity) (any, error) {
	return cmp.Or(kopf.LoginWithServiceAccount(a), kopf.LoginWithKubeconfig(a)), nil
}

func now(a *kopf.Activity) (any, error)     { return time.Now().UTC().Format(time.RFC3339), nil }
func handled(a *kopf.Activity) (any, error) { return a.Memo.Get("handled").Int(), nil }

func goodbye(a *kopf.Activity) (any, error) {
	a.Log.Info("that was it", "handled", a.Memo.Get("handled"))
	return nil, nil
}

func create(c *kopf.Change) (any, error) {
	return nil, c.OperatorMemo().Update("handled", func(old kopf.View) (any, error) { return old.Int() + 1, nil })
}

func main() {}
