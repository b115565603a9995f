package conns

import (
	"net/http"
	"time"
)

// Small are the limits of servers with few clients: probes and metrics.
var Small = Limits{Total: 64}

// Server makes a server for small responses to requests without bodies, on a listener with
// limits. It disconnects every slow client within 90 seconds.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: counted(handler), ConnContext: Context, MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 90 * time.Second, IdleTimeout: time.Minute,
	}
}

// counted calls Begin, Run and End around each request of a handler.
func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := Begin(r.Context())
		defer request.End()
		next.ServeHTTP(w, r)
		request.Prove()
	})
}
