// Command configuration shows how a startup handler changes the settings.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [settings]

func init() {
	kopf.OnStartup(configure)
}

func configure(a *kopf.Activity) (any, error) {
	a.Settings.Set("queueing.worker_limit", 10)
	a.Settings.Set("persistence.finalizer", "example.com/finalizer")
	a.Settings.Set("persistence.consistency_timeout", 2*time.Second)
	a.Settings.Set("networking.error_backoffs", []int{1, 2, 4, 8})
	return nil, nil
}

// [/settings]

func storages(a *kopf.Activity) {
	// [status]
	a.Settings.Set("persistence.progress_storage", kopf.Map{"type": "status", "field": "status.my-operator.progress"})
	a.Settings.Set("persistence.diffbase_storage", kopf.Map{"type": "status", "field": "status.my-operator.last-handled"})
	// [/status]

	// [multi]
	a.Settings.Set("persistence.progress_storage", []kopf.Map{
		{"type": "annotations", "prefix": "my-operator.example.com"},
		{"type": "smart"},
	})
	// [/multi]

	// [ignored]
	a.Settings.Set("persistence.diffbase_storage", kopf.Map{
		"type": "annotations", "prefix": "my-operator.example.com",
		"ignored_fields": []string{"spec.replicas"},
	})
	// [/ignored]
}

func init() {
	kopf.OnStartup(func(a *kopf.Activity) (any, error) {
		storages(a)
		return nil, nil
	}, kopf.ID("storages"))
}

func main() {}
