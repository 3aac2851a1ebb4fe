package serve

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/recording"
)

// Recording says what a recording of the daemon contains besides the daemon's own figures.
type Recording struct {
	Version string
	Command []string
	Host    HostView
}

// HostView observes the machine and the daemon's process from outside. The zero value observes
// nothing.
type HostView struct {
	Second func(now float64, to *recording.Writer) // once a second; now is in seconds of the recording
	Facts  func(*recording.Facts)                  // adds facts about machine and processes
	Close  func()
}

const (
	// lookEvery is the interval at which the recorder searches for consumed batches. Batches found
	// in one look share its time, so of shorter steps only the mean is known.
	lookEvery = 20 * time.Millisecond
	// flushEvery is the most that a kill loses.
	flushEvery = time.Second
	// maxLoaders is how many loaders the facts list.
	maxLoaders = 256
	// unseen is why the steps of such a recording have no device times.
	unseen = "stoker feed sees its own side only: stoker observe also times the device"
)

// StartRecorder begins a recording in a file. It fits Options.Recorder.
func (r Recording) StartRecorder(path string, take func() Snapshot) (stop func() error, err error) {
	began := time.Now()
	b := newBook(r, began)
	if b.out, err = recording.Create(path, b.collectFacts()); err != nil {
		return nil, err
	}
	ending := make(chan struct{})
	var writing sync.WaitGroup
	var flushed error
	writing.Go(func() { flushed = b.writeRecord(take, ending) })
	return func() error {
		close(ending)
		writing.Wait()
		if r.Host.Close != nil {
			r.Host.Close()
		}
		return errors.Join(flushed, b.out.Close())
	}, nil
}

// writeRecord records the daemon until it ends. If the disk refuses a write, it retries every
// second and returns the latest error.
func (b *book) writeRecord(take func() Snapshot, ending <-chan struct{}) (err error) {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	next := b.began
	for {
		over := false
		select {
		case <-ending:
			over = true
		case <-looks.C:
		}
		s := take()
		b.writeBatches(s)
		if over || !s.Time.Before(next) {
			next = s.Time.Add(flushEvery)
			b.second(s)
			err = b.out.Flush()
		}
		if over {
			return err
		}
	}
}

// book turns snapshots into a recording.
type book struct {
	recording Recording
	out       *recording.Writer
	began     time.Time
	rings     map[ringKey]*ringTrack
	keys      []ringKey // of loaders, in the order of loaders
	loaders   []recording.Loader
	trainers  []recording.Process
	live      map[string]feed.Counters // by loader name, the latest
	gone      feed.Counters            // of loaders that were closed and opened again
	told      string                   // the facts as last written
}

type ringKey struct {
	loader    string
	rank, pid int
}

// ringTrack is the book's record of one loader on one rank.
type ringTrack struct {
	id   int // of the loader within the process
	n    int // number of steps so far
	at   float64
	seen sessionSnapshot
}

func newBook(r Recording, began time.Time) *book {
	return &book{recording: r, began: began, rings: map[ringKey]*ringTrack{}, live: map[string]feed.Counters{}}
}

func (b *book) sinceStart(t time.Time) float64 { return t.Sub(b.began).Seconds() }

// writeBatches writes a step for every batch consumed since the last look.
func (b *book) writeBatches(s Snapshot) {
	now := b.sinceStart(s.Time)
	for _, session := range s.Sessions {
		key := ringKey{session.Loader, session.Rank, session.PID}
		track := b.rings[key]
		if track == nil {
			track = b.meetLoader(key, session, now)
		}
		if session.Consumed < track.seen.Consumed { // closed and opened again
			track.seen, track.at = sessionSnapshot{}, now
		}
		b.writeSteps(track, session, now)
		track.seen = session
	}
	if len(b.loaders) > maxLoaders {
		b.letGoOf(s.Sessions)
	}
}

// letGoOf drops the oldest loaders that have ended, and their processes.
func (b *book) letGoOf(open []sessionSnapshot) {
	held := map[ringKey]bool{}
	for _, s := range open {
		held[ringKey{s.Loader, s.Rank, s.PID}] = true
	}
	for i := 0; i < len(b.loaders) && len(b.loaders) > maxLoaders; {
		if key := b.keys[i]; held[key] {
			i++
		} else {
			delete(b.rings, key)
			b.keys, b.loaders = slices.Delete(b.keys, i, i+1), slices.Delete(b.loaders, i, i+1)
		}
	}
	b.trainers = slices.DeleteFunc(b.trainers, func(p recording.Process) bool {
		return !slices.ContainsFunc(b.loaders, func(l recording.Loader) bool { return l.PID == p.PID })
	})
}

// meetLoader adds a loader on a rank.
func (b *book) meetLoader(key ringKey, s sessionSnapshot, now float64) *ringTrack {
	track := &ringTrack{at: now}
	for _, l := range b.loaders {
		if l.PID == key.pid {
			track.id = max(track.id, l.ID+1)
		}
	}
	b.rings[key] = track
	b.keys = append(b.keys, key)
	b.loaders = append(b.loaders, recording.Loader{
		ID: track.id, PID: key.pid, Where: fmt.Sprintf("loader %q", key.loader),
		Settings: stoker.Settings{
			stoker.LoaderKind: stoker.StokerLoader, stoker.PersistentWorkers: true,
			stoker.InOrder: true,
		},
	})
	if !slices.ContainsFunc(b.trainers, func(p recording.Process) bool { return p.PID == key.pid }) {
		b.trainers = append(b.trainers,
			recording.Process{PID: key.pid, Role: recording.RoleTrainer, Rank: s.Rank, Device: -1, Start: now})
	}
	return track
}

// writeSteps writes a step for each consumed batch. The trainer's wait is unknown if the client
// never reports it.
func (b *book) writeSteps(track *ringTrack, s sessionSnapshot, now float64) {
	batches := s.Consumed - track.seen.Consumed
	if batches <= 0 {
		return
	}
	period, wait := (now-track.at)/float64(batches), math.NaN()
	if s.TrainerWaited > 0 {
		wait = min(period, (s.TrainerWaited-track.seen.TrainerWaited).Seconds()/float64(batches))
	}
	for range batches {
		b.out.AddStep(recording.Step{
			PID: s.PID, Rank: s.Rank, Device: -1, Loader: track.id, N: track.n, Start: track.at, Period: period,
			Wait:    wait,
			Samples: float64((s.Samples - track.seen.Samples) / batches), Phase: recording.Train,
			Idle: math.NaN(), DevicePeriod: math.NaN(), NoClock: unseen,
		})
		track.n++
		track.at += period
	}
}

// second writes the samples that are due every second.
func (b *book) second(s Snapshot) {
	now := b.sinceStart(s.Time)
	b.writeCounters(now, s.Loaders)
	for _, session := range s.Sessions {
		track := b.rings[ringKey{session.Loader, session.Rank, session.PID}]
		subject := fmt.Sprintf("loader/%d/%d", session.PID, track.id)
		b.out.AddSample(recording.FeedFull, subject, now, session.DaemonWaits.Seconds())
		b.out.AddSample(recording.FeedEmpty, subject, now, session.ClientWaits.Seconds())
		b.out.AddSample(recording.FeedReady, subject, now, float64(session.Slots.Ready+session.Slots.Loaned))
		b.out.AddSample(recording.FeedBad, subject, now, float64(session.Bad))
		b.updateTrack(track, session, s)
	}
	if b.recording.Host.Second != nil {
		b.recording.Host.Second(now, b.out)
	}
	f := b.collectFacts()
	if text := fmt.Sprintf("%+v", f); text != b.told {
		b.told = text
		b.out.SetFacts(f)
	}
}

// updateTrack updates the settings of a loader. The ranks of this node share the threads.
func (b *book) updateTrack(track *ringTrack, session sessionSnapshot, s Snapshot) {
	ranks := 0
	for _, other := range s.Sessions {
		if other.Loader == session.Loader {
			ranks++
		}
	}
	for i := range b.loaders {
		l := &b.loaders[i]
		if l.PID != session.PID || l.ID != track.id {
			continue
		}
		l.Settings[stoker.NumWorkers] = max(1, s.Threads.Threads/ranks)
		if session.Consumed > 0 { // the few short batches at epoch ends hardly matter
			l.Settings[stoker.BatchSize] = int(math.Ceil(float64(session.Samples) / float64(session.Consumed)))
		}
	}
}

// writeCounters writes the sums over all loaders.
func (b *book) writeCounters(now float64, loaders map[string]feed.Counters) {
	for name, c := range loaders {
		if c.Batches < b.live[name].Batches { // closed and opened again
			b.gone = addCounters(b.gone, b.live[name])
		}
		b.live[name] = c
	}
	all := b.gone
	for _, c := range b.live {
		all = addCounters(all, c)
	}
	subject := fmt.Sprintf("process/%d", os.Getpid())
	b.out.AddSample(recording.FeedBatches, subject, now, float64(all.Batches))
	b.out.AddSample(recording.FeedSamples, subject, now, float64(all.Samples))
	b.out.AddSample(recording.FeedRead, subject, now, all.Read.Seconds())
	b.out.AddSample(recording.FeedDecode, subject, now, all.Decode.Seconds())
	b.out.AddSample(recording.FeedTransform, subject, now, all.Transform.Seconds())
}

func addCounters(a, b feed.Counters) feed.Counters {
	return feed.Counters{
		Batches: a.Batches + b.Batches, Samples: a.Samples + b.Samples, Read: a.Read + b.Read,
		Decode: a.Decode + b.Decode, Transform: a.Transform + b.Transform,
	}
}

// collectFacts returns the current facts.
func (b *book) collectFacts() recording.Facts {
	f := recording.Facts{
		Version: b.recording.Version, Command: b.recording.Command, Started: float64(b.began.UnixNano()) / 1e9,
		Loaders: slices.Clone(b.loaders), Processes: slices.Clone(b.trainers),
	}
	f.Processes = append(f.Processes, recording.Process{PID: os.Getpid(), Role: recording.RoleFeed, Device: -1})
	for i := range f.Loaders {
		f.Loaders[i].Settings = f.Loaders[i].Settings.With()
	}
	if b.recording.Host.Facts != nil {
		b.recording.Host.Facts(&f)
	}
	return f
}
