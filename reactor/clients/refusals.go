package clients

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// refusalLife is how long a refused patch counts after its last attempt: the handling of an object whose patches fail is
// repeated more often. The object may be gone.
const refusalLife = 15 * time.Minute

// refusals are the resources whose objects the account may not patch. The zero value has none.
type refusals struct {
	mu sync.Mutex // guards of
	of map[apipath.Target]refusal
}

type refusal struct {
	at   time.Time
	text string
}

// note notes the outcome of an attempt to patch the object of a path.
func (r *refusals) note(path apipath.Path, err error) {
	code, _ := Code(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && len(r.of) > 0:
		delete(r.of, collection(path))
	case code == http.StatusForbidden && strings.Contains(err.Error(), "cannot patch resource"): // and not for one object, as an admission handler refuses it
		if r.of == nil {
			r.of = map[apipath.Target]refusal{}
		}
		r.of[collection(path)] = refusal{time.Now(), err.Error()}
	}
}

// collection is what the rights of an account are about.
func collection(path apipath.Path) apipath.Target {
	target, _ := apipath.Parse(string(path))
	target.Name = ""
	return target
}

// Unpatched returns the answers of the API server about resources whose objects the account may not patch, as the last patches
// show.
func (c *Client) Unpatched() []string {
	r := &c.unpatched
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(_ apipath.Target, last refusal) bool { return time.Since(last.at) > refusalLife })
	var texts []string
	for _, last := range r.of {
		texts = append(texts, last.text)
	}
	slices.Sort(texts)
	return texts
}
