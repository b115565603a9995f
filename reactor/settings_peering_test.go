package reactor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// An operator applies the peering settings before it has met any peers.
func TestPeeringResourcesBySettings(t *testing.T) {
	all := []selectors.Resource{
		{Group: "kopf.dev", Version: "v1", Plural: "kopfpeerings", Namespaced: true},
		{Group: "kopf.dev", Version: "v1", Plural: "clusterkopfpeerings"},
	}
	tests := []struct {
		name     string
		settings map[string]string
		all      []selectors.Resource
		want     string
		paused   bool
	}{
		{"of a namespace", map[string]string{"peering.clusterwide": "false"}, all, "kopfpeerings", false},
		{"of the cluster", map[string]string{"peering.clusterwide": "true"}, all, "clusterkopfpeerings", false},
		{"alone", map[string]string{"peering.standalone": "true", "peering.mandatory": "true"}, all, "", false},
		{"without any", map[string]string{"peering.mandatory": "false"}, nil, "", false},
		{"but there must be some", map[string]string{"peering.mandatory": "true"}, nil, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op := configured(t, tt.settings)
			o := &observation.Observer{Pauses: op.pauses, Peering: &op.Settings.Peering, Orchestrator: observation.NewOrchestrator(), Log: zerolog.Nop()}
			o.Orchestrator.Prepare, o.Orchestrator.Started = func(dimensions.Dimension) {}, func() {}
			o.Serve(t.Context(), nil, tt.all)
			var got []string
			for _, r := range o.Orchestrator.Peerings {
				got = append(got, r.Plural)
			}
			if strings.Join(got, " ") != tt.want || op.pauses.IsOn() != tt.paused {
				t.Errorf("meets in %q, paused: %v; want %q, %v", got, op.pauses.IsOn(), tt.want, tt.paused)
			}
		})
	}
}

// The observers do not watch if scanning is disabled.
func TestScanningBySettings(t *testing.T) {
	for _, tt := range []struct {
		disabled string
		want     string
	}{{"true", ""}, {"false", "/api/v1/namespaces"}} {
		t.Run(tt.disabled, func(t *testing.T) {
			op := configured(t, map[string]string{"scanning.disabled": tt.disabled})
			asked := make(chan string, 100)
			served(t, op, answeringEmpty(asked))
			op.Registry = &registries.Registry{}
			o := op.newObserver(observation.NewOrchestrator(), zerolog.Nop(), []string{"a", "b*"})
			o.Orchestrator.Prepare, o.Orchestrator.Started = func(dimensions.Dimension) {}, func() {}
			limit := time.Minute
			if tt.want == "" {
				limit = time.Second // for a request that should not be there
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			ended := make(chan struct{})
			go o.ObserveNamespaces(ctx, func(error) { close(ended) }) // It is the error of the context. Waited for below.
			first := ""
			select {
			case first = <-asked:
			case <-ctx.Done():
			}
			cancel()
			<-ended
			if first != tt.want {
				t.Errorf("asks for %q, want %q", first, tt.want)
			}
			if got := fmt.Sprint(o.Orchestrator.Namespaces); tt.disabled == "true" && got != "[a]" {
				t.Errorf("serves %s, want the names without patterns", got)
			}
		})
	}
}

// Without scanning, an operator whose namespaces are all patterns serves none. It served the whole cluster.
func TestPatternsWithoutScanning(t *testing.T) {
	op := configured(t, map[string]string{"scanning.disabled": "true"})
	o := op.newObserver(observation.NewOrchestrator(), zerolog.Nop(), []string{"b*"})
	o.Orchestrator.Prepare, o.Orchestrator.Started = func(dimensions.Dimension) {}, func() {}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	o.ObserveNamespaces(ctx, func(error) { close(ended) })
	if served := o.Orchestrator.Namespaces; served == nil || len(served) > 0 {
		t.Errorf("serves %q (nil: the whole cluster), want no namespace", served)
	}
	cancel()
	<-ended
}
