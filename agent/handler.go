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
	"github.com/stoker-dev/stoker/internal/safe"
)

// Door says who may scrape.
type Door struct {
	// Token returns the present token and is called for each request: a request that has it as a
	// bearer token is answered, wherever it comes from. If Token is nil, a request is answered
	// if it names one of Hosts.
	Token func() (string, error)
	Hosts []string // host:port names of loopback
}

// Handler answers scrapes of /metrics if door permits, and /healthz for everybody.
func (a *Agent) Handler(door Door) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if code, why := door.refusal(r); why != "" {
			if code == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, why, code)
			return
		}
		var page bytes.Buffer
		if err := a.collectMetrics(time.Now()).Write(&page); err != nil {
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

// refusal returns why a request may not see metrics; "" if it may. It keeps out pages of other
// sites in a browser: their requests have an Origin, or name another host.
func (d Door) refusal(r *http.Request) (code int, why string) {
	switch {
	case d.Token != nil && !d.hasToken(r):
		return http.StatusUnauthorized, "the token of --token-file is asked for: Authorization: Bearer TOKEN"
	case d.Token != nil:
		return 0, ""
	case !slices.ContainsFunc(d.Hosts, func(host string) bool { return strings.EqualFold(host, r.Host) }):
		return http.StatusMisdirectedRequest, "Host is " + safe.Text(r.Host, 100) + ", and this agent answers to " +
			strings.Join(d.Hosts, ", ") + ", --token-file lets others ask"
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "cross-site":
		return http.StatusForbidden, "a page of another site asks (Origin, Sec-Fetch-Site), and none is answered"
	}
	return 0, ""
}

// hasToken reports whether a request carries the token. The name of the scheme ignores case
// (RFC 9110).
func (d Door) hasToken(r *http.Request) bool {
	token, err := d.Token()
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimLeft(given, " ")
	return err == nil && token != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(given),
		[]byte(token)) == 1
}
