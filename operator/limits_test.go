package operator

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/clients"
)

func TestLimitsAreSetByName(t *testing.T) {
	o := Options{}
	for _, name := range []string{"RequestRate", "RequestBurst", "EventRate", "EventBurst", "CallRate", "CallBurst", "MaxInstances"} {
		if err := o.SetLimit(name, "7"); err != nil {
			t.Error(err)
		}
	}
	seven := clients.Rate{PerSecond: 7, Burst: 7}
	for name, value := range map[string]string{"EgressRate": "7Ki", "EgressBurst": "7168", "ComputeRate": "7s"} {
		if err := o.SetLimit(name, value); err != nil {
			t.Error(err)
		}
	}
	if o.Calls.Egress != (clients.Rate{PerSecond: 7 << 10, Burst: 7 << 10}) || o.Host.ComputeRate != 7*time.Second {
		t.Errorf("got %+v, %v", o.Calls.Egress, o.Host.ComputeRate)
	}
	if o.Limits != (clients.Limits{Requests: seven, Events: seven}) || o.Calls.Rate != seven || o.Host.MaxInstances != 7 {
		t.Errorf("got %+v, %+v, %d", o.Limits, o.Calls.Rate, o.Host.MaxInstances)
	}
	for limit, want := range map[string]string{
		"EventRate=0": `limit EventRate: "0" is not a whole number above zero`, "CallRate=1.5": "not a whole number", "CallBurst=": "not a whole number",
		"EgressRate=1MB": `limit EgressRate: "1MB" is not a size above zero, like 500000, 64Mi or 1Gi`, "ComputeRate=30": `limit ComputeRate: "30" is not a duration above zero`,
		"MaxInstances=x": "not a whole number", "Events=1": "unknown limit Events: did you mean EventRate?", "TotallyUnknownLimitWord=1": ": it must be one of AnswerMemory, ",
	} {
		name, value, _ := strings.Cut(limit, "=")
		if err := o.SetLimit(name, value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", limit, err, want)
		}
	}
}

func TestLimitsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range LimitNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/sandbox.md says nothing of %s", name)
		}
	}
}
