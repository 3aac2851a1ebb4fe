//go:build linux

package cpu

import (
	"errors"
	"os"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A thread that sleeps may have no wchan while others use its core: it is not running.
func TestASleeperWithoutAWchan(t *testing.T) {
	folder := t.TempDir() + "/"
	write := func(name, text string) {
		if err := os.WriteFile(folder+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("stat", "")
	write("wchan", "")
	stat, err := openFile(folder + "stat")
	wchan, err2 := openFile(folder + "wchan")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	thread := &thread{stat: stat, wchan: wchan, sched: -1}
	defer thread.close()
	buffer := make([]byte, 512)
	for _, look := range []struct {
		letter, wchan string
		want          recording.State
	}{
		{"D", "0", recording.OnDisk},
		{"D", "fuse_wait", recording.Remote},
		{"D", "0", recording.Remote},
		{"S", "0", recording.Parked},
		{"S", "hrtimer_nanosleep", recording.Asleep},
		{"S", "0", recording.Asleep},
		{"R", "0", recording.Running},
		{"D", "", recording.OnDisk},
	} {
		write("stat", "7 (a) b) "+look.letter+" 1 7")
		write("wchan", look.wchan)
		if got, ok := thread.look(buffer); !ok || got != look.want {
			t.Errorf("%s in %q: %v, want %v", look.letter, look.wchan, got, look.want)
		}
	}
}
