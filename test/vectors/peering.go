package vectors

import (
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/peers"
)

var peeringFunctions = map[string]Function{
	"peers": {Call: peerRecord},
}

// peerRecord reads a record and writes it again. The last of the recorded cases
// tells about its input only that it has unknown fields.
func peerRecord(c Case) (any, error) {
	now := time.Now()
	in, unknown := c.In, c.In["unknown_fields"] != nil
	if unknown {
		in = dicts.Object{"lastseen": "2020-01-01T00:00:00", "message": "x", "namespace": "y"}
	}
	peer, err := peers.Parse("id", dicts.Encode(in), now)
	if err != nil {
		return nil, err
	}
	record := peer.Record()
	out := dicts.Object{"priority": record.Priority, "lifetime": record.Lifetime, "lastseen": record.LastSeen}
	if !unknown {
		out["dead"] = peer.Dead(now)
	}
	return out, nil
}
