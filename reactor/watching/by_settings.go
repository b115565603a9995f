package watching

import (
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// OptionsOf returns the options of streams that see all objects.
func OptionsOf(s *settings.Settings) Options {
	w := s.Watching
	return Options{
		ServerTimeout: w.ServerTimeout, ClientTimeout: w.ClientTimeout, ReconnectBackoff: w.ReconnectBackoff,
		InactivityTimeout: w.InactivityTimeout, ChunkSize: w.ChunkSize, InitialStreaming: w.InitialStreaming,
	}
}

// Filtered returns the options of a stream that sees only the selected objects.
func Filtered(s *settings.Settings, r selectors.Resource) func() Options {
	return func() Options {
		o, w := OptionsOf(s), s.Watching
		o.Labels, o.Fields, o.Shard = w.LabelSelectors.All(r), w.FieldSelectors.All(r), w.ShardSelectors.First(r)
		return o
	}
}
