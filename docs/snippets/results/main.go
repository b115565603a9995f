// Command results shows what becomes of the results of handlers.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [results]

func init() {
	kopf.OnCreate("kopfexamples", job)
	kopf.OnCreate("kopfexamples", count, kopf.ID("volumes"))
	kopf.OnCreate("kopfexamples", nothing)
}

// JobStatus is stored by its json tags.
type JobStatus struct {
	Name  string `json:"name"`
	Nodes int    `json:"nodes,omitempty"`
}

func job(*kopf.Change) (any, error)     { return JobStatus{Name: "job-1"}, nil }
func count(*kopf.Change) (any, error)   { return 3, nil }
func nothing(*kopf.Change) (any, error) { return nil, nil }

// [/results]

func main() {}
