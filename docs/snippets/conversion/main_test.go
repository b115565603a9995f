package main

import (
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// [test]

func TestNothingIsLost(t *testing.T) {
	host := kopftest.New(t)
	host.RoundTrip("v1", "v2", toV2, toV1, kopf.Map{"spec": kopf.Map{"size": 5}})
	host.RoundTrip("v2", "v1", toV1, toV2, kopf.Map{"spec": kopf.Map{"replicas": 5}})
}

// [/test]

func TestMissingFieldsStayMissing(t *testing.T) {
	host := kopftest.New(t)
	host.RoundTrip("v1", "v2", toV2, toV1, kopf.Map{"spec": kopf.Map{"owner": "me"}})
	host.RoundTrip("v2", "v1", toV1, toV2, kopf.Map{"spec": kopf.Map{"owner": "me"}})
}
