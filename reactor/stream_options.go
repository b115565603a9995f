package reactor

import (
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// watchOptions are the options of streams that see all objects.
func watchOptions(s *settings.Settings) watching.Options {
	w := s.Watching
	return watching.Options{
		ServerTimeout: w.ServerTimeout, ClientTimeout: w.ClientTimeout, ReconnectBackoff: w.ReconnectBackoff,
		InactivityTimeout: w.InactivityTimeout, ChunkSize: w.ChunkSize, InitialStreaming: w.InitialStreaming,
	}
}

// filtered are the options of a stream that sees the selected objects only.
func filtered(s *settings.Settings, r selectors.Resource) func() watching.Options {
	return func() watching.Options {
		o, w := watchOptions(s), s.Watching
		o.Labels, o.Fields, o.Shard = w.LabelSelectors.All(r), w.FieldSelectors.All(r), w.ShardSelectors.First(r)
		return o
	}
}
