package reactor

import (
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// smallEnough is the size of bodies whose essence fits in any case, beside all
// annotations that are there: escapes make it three times longer at most.
const smallEnough = stores.AnnotationsLimit / 4

// checkFit refuses an object that could not keep its essence, as otherwise its
// handlers would be called again and again, and each time in vain.
func (p *processor) checkFit(c *cause) error {
	essence, ok := c.new.(dicts.Object)
	if !ok || len(c.raw) <= smallEnough {
		return nil
	}
	var patch stores.Patch
	if err := p.settings.Persistence.DiffBase.Store(c.body, &patch, essence); err != nil {
		return err
	}
	return stores.CheckAnnotations(c.body, &patch)
}
