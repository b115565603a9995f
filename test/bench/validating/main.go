// Command validating is the Go guest of the benchmark of admission: one check of one field.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() { kopf.OnValidate("kopfexamples", check, kopf.ID("check")) }

func check(r *kopf.Review) error {
	if r.Spec.Get("field").String() == "" {
		return kopf.Denied("the field is empty", 422)
	}
	return nil
}

func main() {}
