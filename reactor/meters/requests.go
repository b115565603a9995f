package meters

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// methods are the methods of requests; all others count as the last one.
var methods = [...]string{"GET", "POST", "PUT", "PATCH", "DELETE", "other"}

// statuses are the status codes that API servers use; all others count as the last one.
var statuses = [...]int{200, 201, 202, 204, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504, 0}

// These are the labels of requests without a usual status.
const (
	unanswered = "none"  // of requests without a response
	unusual    = "other" // of all other status codes
)

// Requests are the meter of requests to the API server. The zero value is empty, and a nil
// Requests counts nothing. It is safe for concurrent use.
type Requests struct {
	answered   [len(methods)][len(statuses)]atomic.Uint64
	unanswered [len(methods)]atomic.Uint64
	took       [len(methods)]Histogram
}

// Count counts a request with the status of its response, and the time until its header; the
// status 0 means that no response came.
func (r *Requests) Count(method string, status int, took time.Duration) {
	if r == nil {
		return
	}
	m := slices.Index(methods[:], method)
	if m < 0 {
		m = len(methods) - 1
	}
	r.took[m].Observe(took)
	if status == 0 {
		r.unanswered[m].Add(1)
		return
	}
	s := slices.Index(statuses[:], status)
	if s < 0 {
		s = len(statuses) - 1
	}
	r.answered[m][s].Add(1)
}

// Answers are the requests of one method with one status.
type Answers struct {
	Method, Code string
	Count        uint64
}

// Read returns the requests by method and status, without those that have not occurred.
func (r *Requests) Read() []Answers {
	var all []Answers
	add := func(method, code string, count uint64) {
		if count > 0 {
			all = append(all, Answers{method, code, count})
		}
	}
	for m, method := range methods {
		for s, status := range statuses {
			code := strconv.Itoa(status)
			if status == 0 {
				code = unusual
			}
			add(method, code, r.answered[m][s].Load())
		}
		add(method, unanswered, r.unanswered[m].Load())
	}
	return all
}

// Took returns how long requests took until the header of their response, by method. Methods
// without requests are left out.
func (r *Requests) Took() map[string]Distribution {
	all := map[string]Distribution{}
	for m, method := range methods {
		if d := r.took[m].Read(); d.Count() > 0 {
			all[method] = d
		}
	}
	return all
}

// Operator is everything that an operator measures.
type Operator struct {
	Handlers Handlers
	Requests Requests  // all requests to the API server, including those of guests
	Waits    Histogram // how long events have waited for a worker
}
