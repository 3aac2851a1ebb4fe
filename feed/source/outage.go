package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// Outage marks an error that says nothing about a file: the machine, its storage or the network
// could not provide it. A caller must neither replace the sample nor leave it out.
type Outage struct {
	Err error
	// Lasts means that retrying is useless: somebody has to change something first.
	Lasts bool
}

func (o *Outage) Error() string { return o.Err.Error() }
func (o *Outage) Unwrap() error { return o.Err }

// explainOutage appends the meaning of the error number of an outage.
func explainOutage(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) && outages[number] != "" {
		return fmt.Errorf("%w: %s", err, outages[number])
	}
	return err
}

// outages are the error numbers that are never about the file itself. All others are, as for a
// script that opens the file: missing, forbidden, not a file, a disk that cannot read its block
// (EIO). bench/reliability/RESULTS.md has the table. EIO from network storage is an outage too;
// Folder.judgeError decides that.
var outages = map[syscall.Errno]string{
	syscall.EMFILE:  "this process has no descriptor left",
	syscall.ENFILE:  "the machine has no descriptor left",
	syscall.ENOMEM:  "no memory is left",
	syscall.ENOBUFS: "no memory is left for the network",
	syscall.EAGAIN:  "the kernel cannot serve it now",
	syscall.EINTR:   "a signal came in between",
	syscall.EBUSY:   "something else holds it now",
	syscall.ENOLCK:  "no lock is left",
	syscall.ENOSPC:  "the disk is full",
	syscall.EDQUOT:  "the user's share of the disk is full",
	syscall.EFBIG:   "a file may grow no larger here (ulimit -f)",
	syscall.EROFS:   "the disk cannot be written to",

	syscall.ESTALE:        "the file server has forgotten the file's handle",
	syscall.ETIMEDOUT:     "the storage did not answer in time",
	syscall.ENOTCONN:      "the process that serves the file system is gone",
	syscall.ECONNABORTED:  "the connection broke",
	syscall.ECONNREFUSED:  "the server takes no connection",
	syscall.ECONNRESET:    "the connection broke",
	syscall.EPIPE:         "the connection broke",
	syscall.ESHUTDOWN:     "the connection was closed",
	syscall.EHOSTDOWN:     "the server is down",
	syscall.EHOSTUNREACH:  "the server cannot be reached",
	syscall.ENETDOWN:      "the network is down",
	syscall.ENETUNREACH:   "the network cannot be reached",
	syscall.ENETRESET:     "the network broke the connection",
	syscall.EADDRNOTAVAIL: "no port is left",
}

// IsOutage returns true if an error is about the machine, its storage or the network, and false
// if it is about the file.
func IsOutage(err error) bool {
	if errors.As(err, new(*Outage)) {
		return true
	}
	var number syscall.Errno // checked before net.Error, which every error number also implements
	if errors.As(err, &number) {
		return outages[number] != ""
	}
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	return late || errors.As(err, new(net.Error))
}

// outageLasts reports whether an outage will last until somebody changes something.
func outageLasts(err error) bool {
	var o *Outage
	return errors.As(err, &o) && o.Lasts
}

// Patience is how long to wait for an outage to end: a file server needs half a minute to
// restart. Tests set less.
var Patience = 30 * time.Second

// WaitOut calls try, and repeats it with growing pauses until an outage ends or has lasted for
// Patience. It returns an error that is not an outage at once.
func WaitOut(ctx context.Context, try func() error) error {
	began := time.Now()
	return waitOut(ctx, began, try(), try)
}

// waitOut is WaitOut after a first try, which began at began and returned err.
func waitOut(ctx context.Context, began time.Time, err error, try func() error) error {
	const shortest, longest = 5 * time.Millisecond, time.Second
	for pause := shortest; err != nil && IsOutage(err) && !outageLasts(err); pause = min(2*pause, longest) {
		if time.Since(began) > Patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = try()
	}
	return err
}
