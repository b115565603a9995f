// [operator]

// Command memberships begins memberships when they are paid, and renews them.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("memberships", begin, kopf.Timeout(24*time.Hour))
	kopf.OnField("memberships", renew, kopf.Field("spec.days"))
	kopf.OnDelete("memberships", end)
}

// MembershipSpec is what people write.
type MembershipSpec struct {
	Member string `json:"member"`
	Days   int    `json:"days"`
	Paid   bool   `json:"paid"`
}

// begin is called for each new membership.
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

// renew is called when the days change.
func renew(c *kopf.Change) (any, error) {
	if c.Reason != kopf.ReasonUpdate { // field handlers are called for creations too
		return nil, nil
	}
	c.Log.Info("renewed", "from", c.Old, "to", c.New)
	c.Patch.Status.In("begin").Set("expires", expiry(c, c.New.Int()))
	return nil, nil
}

// end is called when a membership is deleted.
func end(c *kopf.Change) (any, error) {
	c.Log.Info("goodbye", "member", c.Spec.Get("member"))
	return nil, nil
}

func main() {}

// [/operator]
