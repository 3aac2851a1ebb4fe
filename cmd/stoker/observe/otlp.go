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

// collector is an OpenTelemetry collector that gets figures. Sending never delays the observer:
// figures that come while a request is running are dropped.
type collector struct {
	address string
	busy    chan struct{}
	once    sync.Once
	warn    func(text string)
}

// collectorPatience is the timeout of a request, and of the last one at the end.
const collectorPatience = 2 * time.Second

// newCollector takes the base address, without a signal's path, as OpenTelemetry's exporters do.
func newCollector(base string, warn func(text string)) (*collector, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// the address is not printed: it may contain a secret
		return nil, cli.AsUsage(errors.New(
			"--otlp: no address of a collector: expected one such as http://127.0.0.1:4318"))
	}
	return &collector{address: u.JoinPath("v1/metrics").String(), busy: make(chan struct{}, 1), warn: warn}, nil
}

// send sends the figures of a run.
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

// close waits for a running request.
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

// fails prints the first failure only: the collector may come back.
func (c *collector) fails(err error) {
	c.once.Do(func() {
		c.warn(fmt.Sprintf("--otlp: %s (tried again every %.0f s)", redact.Text(err.Error()), handOutEach))
	})
}

// handOutEach is the number of seconds between two sets of figures for other tools: about as
// often as Prometheus scrapes.
const handOutEach = 15.0
