// Package closed is what servers of ours have in common: they show nothing to pages of
// others, and no client can keep them waiting. Who may ask at all is the server's own to
// decide.
package closed

import (
	"net/http"
	"time"
)

// Headers keep an answer out of pages of others, out of caches and out of guesses about
// what it is.
func Headers(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'")
}

// slowest is how long a request may take to be told.
const slowest = 10 * time.Second

// NewServer is a server that waits for nobody.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: slowest, ReadTimeout: slowest, WriteTimeout: time.Minute,
		IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}
