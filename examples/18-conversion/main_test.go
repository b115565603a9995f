package main

import (
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

func TestNothingIsLost(t *testing.T) {
	host := kopftest.New(t)
	database := func(spec kopf.Map) kopf.Map {
		return kopf.Map{"kind": "Database", "metadata": kopf.Map{"name": "db"}, "spec": spec}
	}
	host.RoundTrip("v1", "v2", toNumber, toWords, database(kopf.Map{"size": "small"}), database(kopf.Map{"size": "large", "owner": "me"}), database(kopf.Map{"owner": "me"}))
	host.RoundTrip("v2", "v1", toWords, toNumber, database(kopf.Map{"gigabytes": 100}), database(kopf.Map{"gigabytes": 123}), database(kopf.Map{"owner": "me"}))
}
