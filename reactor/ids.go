package reactor

import (
	"fmt"
	"strings"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/stores"
)

// warnOfIDs names handlers whose progress the API server will refuse to store, because no annotation can have their ids. They are
// accepted as by Kopf: a handler that succeeds at its first attempt stores no progress.
func (op *Operator) warnOfIDs(r *registries.Registry, log zerolog.Logger) {
	if !stores.AreOwn(op.Settings.Persistence.Progress, op.Settings.Persistence.DiffBase) {
		return // what other storages do with an id is unknown
	}
	warned := map[string]bool{} // a function that is registered for several causes has one id
	for _, h := range r.Changing {
		if warned[h.ID] || op.isStorable(h.ID) {
			continue
		}
		warned[h.ID] = true
		log.Warn().Msg(fmt.Sprintf("The progress of handler %s cannot be stored, because no annotation can have this id: after an error, it is not called again until the object changes. "+
			"Choose an id of letters, digits, -, _ and . that begins and ends with a letter or a digit.", loggers.Quote(h.ID)))
	}
}

// isStorable reports whether the API server accepts the annotations for an id; true if the progress is not in annotations.
func (op *Operator) isStorable(id string) bool {
	patch := &stores.Patch{}
	if err := op.Settings.Persistence.Progress.Store(id, stores.Record{}, stores.Object{}, patch); err != nil {
		return true // another reason, which the handling reports
	}
	for key := range dicts.LookupObject(patch.Object(), "metadata", "annotations") {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 { // as the API server does
			return false
		}
	}
	return true
}
