package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed"
)

// sharedLoader is a loader that the ranks of this node share: the first session with its name
// opens it, the last one closes it.
type sharedLoader struct {
	spec   feed.Spec // as the first rank sent it
	cancel context.CancelFunc
	opened chan struct{} // closed once loader or err is set
	loader loader
	err    error
	began  time.Time

	table    *loaderTable
	sessions map[*session]struct{} // guarded by table.mu
	users    int                   // sessions, and those waiting for opened; guarded by table.mu
	listed   int                   // files so far; guarded by table.mu
}

// loaderTable holds the daemon's loaders by name.
type loaderTable struct {
	daemon *daemon

	mu     sync.Mutex
	shares map[string]*sharedLoader
}

// joinLoader returns the loader with a spec's name, and opens it for the first caller. Only
// then it reads the list, as all ranks have the same. Every successful call needs a
// leaveLoader.
func (t *loaderTable) joinLoader(spec feed.Spec, options feed.Options, list func() ([]byte,
	error),
) (*sharedLoader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.shares[spec.Name]; s != nil {
		if err := sameSpec(s.spec, spec); err != nil {
			return nil, err
		}
		s.users++
		return s, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sharedLoader{
		spec: spec, cancel: cancel, opened: make(chan struct{}), began: time.Now(), table: t,
		sessions: map[*session]struct{}{}, users: 1,
	}
	t.shares[spec.Name] = s
	options.Progress = func(files int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.listed = files
	}
	t.daemon.work.Go(func() {
		defer close(s.opened)
		if options.List, s.err = list(); s.err == nil {
			s.loader, s.err = t.daemon.options.engine.openLoader(ctx, spec, options)
		}
	})
	return s, nil
}

// waitForLoader returns when the loader is opened or has failed, or done is closed.
func (s *sharedLoader) waitForLoader(done <-chan struct{}) error {
	select {
	case <-s.opened:
		return s.err
	case <-done:
		return errors.New("the client has gone")
	}
}

// enterLoader adds a session to the loader. A rank can be there twice for a moment, if the
// session of a process that died is still ending.
func (s *sharedLoader) enterLoader(member *session) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	s.sessions[member] = struct{}{}
}

// leaveLoader ends what joinLoader began; the last call closes the loader. It does not wait for
// a listing, which may hang if the storage does not answer. member is nil if no session was
// opened.
func (s *sharedLoader) leaveLoader(member *session) {
	s.table.mu.Lock()
	delete(s.sessions, member)
	s.users--
	last := s.users == 0
	if last {
		delete(s.table.shares, s.spec.Name)
	}
	s.table.mu.Unlock()
	if !last {
		return
	}
	s.cancel()
	select {
	case <-s.opened:
		s.closeLoader()
	default:
		s.table.daemon.work.Go(s.closeLoader)
	}
}

func (s *sharedLoader) closeLoader() {
	<-s.opened
	if s.loader == nil {
		return
	}
	if err := s.loader.Close(); err != nil {
		s.table.daemon.warn("end of loader %q: %v", s.spec.Name, err)
	}
}

// describeListing returns a sentence about the progress of the listing.
func (s *sharedLoader) describeListing(now time.Time) string {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return fmt.Sprintf("%s is being listed since %.1f s: %d files so far", s.spec.Root, now.Sub(s.began).Seconds(),
		s.listed)
}
