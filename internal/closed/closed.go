// Package closed has what the HTTP servers of Stoker share: headers that keep other sites'
// pages from using an answer, and time limits on clients. Each server decides itself who may
// send requests.
package closed

import (
	"net/http"
	"time"
)

// Headers sets headers that keep an answer out of pages of other sites and out of caches, and
// stop browsers from guessing its type.
func Headers(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'")
}

// slowest is the longest time that a client may take to send a request.
const slowest = 10 * time.Second

// NewServer returns a server with time limits on clients.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: slowest, ReadTimeout: slowest, WriteTimeout: time.Minute,
		IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}
