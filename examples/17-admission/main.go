// Command 17-admission checks and completes objects before they are stored.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() {
	kopf.OnValidate("websites.example.com", checkReplicas)
	kopf.OnMutate("websites.example.com", fillIn, kopf.Operations(kopf.Creating, kopf.Updating))
}

func checkReplicas(r *kopf.Review) error {
	switch n := r.Spec.Get("replicas").Int(); {
	case n > 10:
		return kopf.Denied("there can be at most 10 replicas", 422)
	case n == 0:
		r.Warn("no replica will serve this website")
	}
	return nil
}

func fillIn(r *kopf.Review) error {
	if !r.Spec.Has("replicas") {
		r.Patch.Spec.Set("replicas", 2)
	}
	r.Patch.Labels.Set("example.com/requested-by", r.UserInfo.Get("username").String())
	return nil
}

func main() {}
