package leadership_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// saw is a look at one Lease with a version and a holder; without a version, it does not exist.
func saw(version, holder string) map[string]leadership.Lease {
	if version == "" {
		return nil
	}
	seconds := 15
	if holder == "" {
		seconds = 0
	}
	return map[string]leadership.Lease{"x": {Version: version, Holder: holder, Seconds: seconds}}
}

func TestHolderEndsWithItsLease(t *testing.T) {
	t.Parallel()
	type look struct {
		version, holder string
		pause           time.Duration // after the look
	}
	for name, tt := range map[string]struct {
		looks  []look
		ended  bool
		living int
	}{
		"it renews":              {[]look{{"1", "a", 10 * time.Second}, {"2", "a", 10 * time.Second}, {"3", "a", 0}}, false, 1},
		"it was seen once":       {[]look{{"1", "a", 0}}, false, 0},
		"it does not renew":      {[]look{{"1", "a", 0}, {"2", "a", 16 * time.Second}, {"2", "a", 0}}, true, 0},
		"it has released":        {[]look{{"1", "a", 0}, {"2", "", 0}}, true, 0},
		"it was deleted":         {[]look{{"1", "a", 0}, {"2", "a", 10 * time.Second}, {"", "", 10 * time.Second}, {"", "", 0}}, false, 1},
		"it is deleted for ever": {[]look{{"1", "a", 0}, {"", "", 16 * time.Second}, {"", "", 0}}, true, 0},
		"no look followed":       {[]look{{"1", "a", 0}, {"2", "a", time.Hour}}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := leadership.NewSights(leadershiptest.Terms(t))
				for _, l := range tt.looks {
					s.Look(time.Now(), saw(l.version, l.holder))
					time.Sleep(l.pause)
				}
				if ended := s.Ended("x"); ended != tt.ended {
					t.Errorf("it has ended: %v", ended)
				}
				if living := len(s.Living()); living != tt.living {
					t.Errorf("%d live", living)
				}
			})
		})
	}
}

func TestUnknownHolderEndsAfterTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := leadership.NewSights(leadershiptest.Terms(t))
		s.Look(time.Now(), nil)
		if s.Ended("x") {
			t.Error("it has ended at once")
		}
		time.Sleep(16 * time.Second)
		s.Look(time.Now(), nil)
		if !s.Ended("x") {
			t.Error("it has not ended")
		}
	})
}

// TestLeasesWithANoteAreOfOtherReplicas: a replica that would handle all objects waits while others share them.
func TestLeasesWithANoteAreOfOtherReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := free()
		sharing := &leadership.Election{
			Store: store, Identity: "sharing", Terms: leadershiptest.Terms(t), Log: func(string) {},
			Note: func(string) string { return "x" }, Noted: func(string) {},
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = sharing.Run(ctx, func() {}) }()
		time.Sleep(time.Minute)
		other := join(t, store, "other")
		stop()
		time.Sleep(time.Hour)
		if other.leads() {
			t.Error("it leads")
		}
		store.remove()
		<-other.led
	})
}
