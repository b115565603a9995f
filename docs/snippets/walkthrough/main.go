// Command walkthrough is the operator of the walkthrough: memberships that begin
// when they are paid.
package main

// [imports]

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [/imports]

// [register]

func init() {
	kopf.OnCreate("memberships", begin, kopf.Timeout(24*time.Hour))
	kopf.OnField("memberships", renew, kopf.Field("spec.days"))
	kopf.OnDelete("memberships", end)
}

// [/register]

// [spec]

// MembershipSpec is what people write.
type MembershipSpec struct {
	Member string `json:"member"`
	Days   int    `json:"days"`
	Paid   bool   `json:"paid"`
}

// [/spec]

// [begin]

func begin(c *kopf.Change) (any, error) {
	spec, err := kopf.Decode[MembershipSpec](c.Spec)
	if err != nil {
		return nil, err
	}
	if spec.Days <= 0 {
		return nil, kopf.Permanent("a membership needs a number of days")
	}
	if !spec.Paid {
		return nil, kopf.Temporary("it is not paid yet", kopf.Delay(5*time.Second))
	}
	c.Log.Info("welcome", "member", spec.Member)
	return kopf.Map{"expires": expiry(c, spec.Days)}, nil
}

// expiry counts from the creation of the object.
func expiry(c *kopf.Change, days int) string {
	created, err := time.Parse(time.RFC3339, c.Meta.Get("creationTimestamp").String())
	if err != nil {
		created = c.Started()
	}
	return created.AddDate(0, 0, days).Format(time.DateOnly)
}

// [/begin]

// [renew]

func renew(c *kopf.Change) (any, error) {
	if c.Reason != kopf.ReasonUpdate { // field handlers are called for creations too
		return nil, nil
	}
	c.Log.Info("renewed", "from", c.Old, "to", c.New)
	c.Patch.Status.In("begin").Set("expires", expiry(c, c.New.Int()))
	return nil, nil
}

// [/renew]

// [end]

func end(c *kopf.Change) (any, error) {
	c.Log.Info("goodbye", "member", c.Spec.Get("member"))
	return nil, nil
}

// [/end]

func main() {}
