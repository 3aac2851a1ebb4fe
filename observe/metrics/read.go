package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Limits of a request.
const (
	patience    = time.Second // from the connection to the last byte
	mostHeaders = 16 << 10
)

// read asks a server for its page.
func read(ctx context.Context, t target) (figures, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.address+"/metrics", http.NoBody)
	if err != nil {
		return figures{}, err
	}
	ask.Header.Set("Accept", "text/plain;version=0.0.4")
	ask.Header.Set("User-Agent", "stoker")
	answer, err := newClient(t.address).Do(ask)
	if err != nil {
		return figures{}, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	switch kind := answer.Header.Get("Content-Type"); {
	case answer.StatusCode != http.StatusOK:
		return figures{}, fmt.Errorf("it answers %s", answer.Status)
	case answer.Header.Get("Content-Encoding") != "":
		return figures{}, errors.New("it compresses its page, which nobody asked for")
	case kind != "" && !strings.HasPrefix(kind, "text/plain"):
		return figures{}, fmt.Errorf("its page is no text but %.40q", kind)
	}
	return parse(answer.Body, t.server)
}

// newClient returns a client for one address: without a proxy, redirects, compression and connections that stay.
func newClient(address string) *http.Client {
	var dialer net.Dialer
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "tcp", address)
			},
			DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
