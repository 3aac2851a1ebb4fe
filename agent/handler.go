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

// refusal says why a request may not see metrics, "" where it may. A browser's page that
// others wrote comes from an origin, or calls us by a name of theirs.
func (d Door) refusal(r *http.Request) (code int, why string) {
	switch {
	case d.Token != nil && !d.sent(r):
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

// sent reports whether a request has the token. The scheme's name has no case (RFC 9110).
func (d Door) sent(r *http.Request) bool {
	token, err := d.Token()
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimLeft(given, " ")
	return err == nil && token != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(given),
		[]byte(token)) == 1
}
