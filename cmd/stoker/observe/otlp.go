package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/export"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/recording"
)

// collector is an OpenTelemetry collector that gets figures. Sending never holds up who
// observes: what comes while a request is on its way is left out.
type collector struct {
	address string
	busy    chan struct{}
	once    sync.Once
	warn    func(text string)
}

// collectorPatience bounds a request, and what is still on its way at the end.
const collectorPatience = 2 * time.Second

// newCollector takes the address as OpenTelemetry's exporters do: without a signal's path.
func newCollector(base string, warn func(text string)) (*collector, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// not what it says: that may hold a secret
		return nil, cli.AsUsage(errors.New(
			"--otlp: no address of a collector: expected one such as http://127.0.0.1:4318"))
	}
	return &collector{address: u.JoinPath("v1/metrics").String(), busy: make(chan struct{}, 1), warn: warn}, nil
}

// send sends what is known of a run.
func (c *collector) send(run *recording.Run, v diagnose.Verdict) {
	host, _ := os.Hostname()
	body, err := export.OTLP(run, v, host)
	if err != nil {
		c.fails(err)
		return
	}
	select {
	case c.busy <- struct{}{}:
		go func() {
			defer func() { <-c.busy }()
			if err := c.post(body); err != nil {
				c.fails(err)
			}
		}()
	default:
	}
}

// close waits for what is on its way.
func (c *collector) close() { c.busy <- struct{}{} }

func (c *collector) post(body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), collectorPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", export.OTLPType)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("%s: %s", answer.Status, said)
	}
	return nil
}

// fails tells of the first failure; a collector that is away may come back.
func (c *collector) fails(err error) {
	c.once.Do(func() {
		c.warn(fmt.Sprintf("--otlp: %s (tried again every %.0f s)", redact.Text(err.Error()), handOutEach))
	})
}
