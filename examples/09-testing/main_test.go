package main

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

func TestCreate(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"field": "value"}}})
	if _, err := create(c); err != nil {
		t.Fatal(err)
	}
	if tested := c.Patch.Status.Map()["tested"]; tested != true {
		t.Errorf("the status has tested: %v", tested)
	}
}

func TestWrongFieldsAreRefused(t *testing.T) {
	c := kopftest.New(t).Change(kopftest.Fixture{Body: kopf.Map{"spec": kopf.Map{"field": "wrong"}}})
	var permanent *kopf.PermanentError
	if _, err := create(c); !errors.As(err, &permanent) {
		t.Errorf("got the error %v, want a permanent one", err)
	}
}
