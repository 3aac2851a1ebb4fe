package report

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// SayRequests says how many requests come to a server, and what they take; nil for what is no server.
func SayRequests(v diagnose.Verdict) (said []string) {
	r := v.Measured.Requests
	if !r.Known() {
		return nil
	}
	said = append(said, quantity.About(r.Rate)+" requests/s")
	if half, p99 := r.Time(0.5), r.Time(0.99); p99 > 0 {
		said = append(said, "half within "+quantity.AboutSeconds(half), "99 % within "+quantity.AboutSeconds(p99))
	}
	if first := r.FirstByte(0.5); first < streamed*r.Time(0.5) {
		said = append(said, "the first byte of half within "+quantity.AboutSeconds(first))
	}
	return append(said, "none there "+quantity.Percent(r.None)+" of the time")
}

// streamed is the part of an answer's time after which its first byte is sent, below which that is said. [J]
const streamed = 0.9
