package main

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// [call]

func TestCreate(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{
		Body: kopf.Map{"spec": kopf.Map{"paid": true, "days": 30}},
	})
	if _, err := createFn(c); err != nil {
		t.Fatal(err)
	}
	if phase := c.Patch.Status.Map()["phase"]; phase != "Active" {
		t.Errorf("the phase is %v", phase)
	}
}

func TestUnpaid(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"days": 30}}})
	_, err := createFn(c)
	var temporary *kopf.TemporaryError
	if !errors.As(err, &temporary) {
		t.Errorf("got the error %v, want a temporary one", err)
	}
}

// [/call]

// [host]

func TestRenewal(t *testing.T) {
	host := kopftest.New(t)
	outcome := host.Run(host.Change(kopftest.Fixture{
		Old:  kopf.Map{"spec": kopf.Map{"days": 30}},
		Body: kopf.Map{"spec": kopf.Map{"days": 60}},
	}), updateFn)
	if outcome.Error != nil {
		t.Fatal(outcome.Error.Message)
	}
	if len(host.Logs) != 1 || host.Logs[0].Text != "renewed from=30 to=60" {
		t.Errorf("logged %v", host.Logs)
	}
	if len(host.Waits) != 1 || len(host.Events) != 1 || host.Events[0].Reason != "Renewed" {
		t.Errorf("waited for %v, posted %v", host.Waits, host.Events)
	}
}

// [/host]
