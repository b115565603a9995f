package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// TestMaxima: every limit that has a name can be raised up to its maximum, and not above.
func TestMaxima(t *testing.T) {
	for _, name := range LimitNames() {
		var own, maxima Options
		if err := own.CheckMaxima(&maxima); err != nil {
			t.Fatalf("the defaults exceed themselves: %v", err)
		}
		own.Host.InstanceMemory, maxima.Host.InstanceMemory = 1<<20, 1<<20 // without a default, as the next one
		own.Host.ComputeRate, maxima.Host.ComputeRate = time.Second, time.Second
		value := "2000000000"
		if err := own.SetLimit(name, value); err != nil {
			value = "10000h"
			if err := own.SetLimit(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.CheckMaxima(&maxima); err == nil || !strings.Contains(err.Error(), "limit "+name+": ") {
			t.Errorf("%s=%s above the default: %v", name, value, err)
		}
		if err := maxima.SetLimit(name, value); err != nil {
			t.Fatal(err)
		}
		if err := own.CheckMaxima(&maxima); err != nil {
			t.Errorf("%s=%s at the maximum: %v", name, value, err)
		}
	}
}

// TestUnsetLimitsObeyLowMaxima: a default above the maximum is refused, too, so a host that
// lowers a maximum gives it to its operators as their limit.
func TestUnsetLimitsObeyLowMaxima(t *testing.T) {
	var own, maxima Options
	if err := maxima.SetLimit("MaxMemory", "1Mi"); err != nil {
		t.Fatal(err)
	}
	if err := (&Options{Host: host.Options{MaxMemory: 100 << 30}}).CheckMaxima(&maxima); err == nil || !strings.Contains(err.Error(), "limit MaxMemory: 100Gi is above the maximum 1Mi of the host") {
		t.Errorf("the value that was set is not named: %v", err)
	}
	if err := own.CheckMaxima(&maxima); err == nil || !strings.Contains(err.Error(), "limit MaxMemory: 256Mi is above the maximum 1Mi of the host") {
		t.Errorf("got %v", err)
	}
}
