//go:build linux

package agent

import (
	"bytes"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/internal/closed"
)

// Door says who may ask.
type Door struct {
	// Token is asked for the present token at each request: who sends it as a bearer
	// token may ask, from anywhere. nil is no token: whoever calls us by one of Hosts may.
	Token func() (string, error)
	Hosts []string // names with the port, of loopback
}

// Handler answers scrapes of /metrics, and on /healthz everybody that we are there.
func (a *Agent) Handler(door Door) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !door.open(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token of --token-file is asked for (Authorization: Bearer TOKEN), or on loopback a call from this machine", http.StatusUnauthorized)
			return
		}
		var page bytes.Buffer
		if err := a.metrics(time.Now()).Write(&page); err != nil {
			http.Error(w, "no metrics", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(page.Bytes())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closed.Headers(w.Header())
		mux.ServeHTTP(w, r)
	})
}

// open reports whether a request may see metrics. A browser's page that others wrote
// comes from an origin, or calls us by a name of theirs.
func (d Door) open(r *http.Request) bool {
	if d.Token == nil {
		return slices.Contains(d.Hosts, r.Host) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") != "cross-site"
	}
	token, err := d.Token()
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return err == nil && token != "" && bearer && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}
