package main

import (
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// [archive]

func TestArchive(t *testing.T) {
	host := kopftest.New(t)
	body := kopf.Map{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
		"metadata": kopf.Map{"name": "a", "namespace": "default", "uid": "1"},
	}
	if _, err := create(host.Change(kopftest.Fixture{Body: body})); err != nil {
		t.Fatal(err)
	}
	archive := host.Object("/api/v1/namespaces/default/configmaps/a-archive")
	if owner := archive.Get("metadata", "ownerReferences", 0, "name").String(); owner != "a" {
		t.Errorf("the archive is owned by %q", owner)
	}
}

// [/archive]
