package cpu

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// The names were read from /proc on kernel 6.18 while a Python process waited in
// the given way; older kernels' names stand behind.
func TestThreadState(t *testing.T) {
	for _, c := range []struct {
		letter byte
		wchan  string
		want   recording.State
	}{
		{'R', "", recording.Running},
		{'S', "poll_schedule_timeout.constprop.0", recording.Parked}, // DataLoader worker at its index queue
		{'S', "anon_pipe_read", recording.Parked},                    // Queue.get
		{'S', "futex_do_wait", recording.Parked},                     // a lock, Event.wait
		{'S', "do_epoll_wait", recording.Parked},
		{'S', "unix_stream_read_generic", recording.Parked},
		{'S', "do_sigtimedwait.isra.0", recording.Parked},
		{'S', "pipe_read", recording.Parked},
		{'S', "futex_wait_queue_me", recording.Parked},
		{'S', "", recording.Parked},
		{'S', "hrtimer_nanosleep", recording.Asleep}, // time.sleep
		{'S', "do_wait", recording.Asleep},           // subprocess.run
		{'S', "__do_sys_pause", recording.Asleep},
		{'S', "wait_woken", recording.Remote}, // socket.recv over TCP
		{'S', "sk_wait_data", recording.Remote},
		{'S', "request_wait_answer", recording.Remote}, // FUSE
		{'D', "request_wait_answer", recording.Remote},
		{'D', "rpc_wait_bit_killable", recording.Remote}, // NFS
		{'D', "nfs_wait_bit_killable", recording.Remote},
		{'D', "io_schedule", recording.OnDisk},
		{'D', "folio_wait_bit_common", recording.OnDisk},
		{'D', "", recording.OnDisk},
		{'S', "io_cqring_wait", recording.OnDisk},
		{'T', "do_signal_stop", recording.Asleep},
	} {
		if got, ok := threadState(c.letter, c.wchan); !ok || got != c.want {
			t.Errorf("%c in %q is %v, want %v", c.letter, c.wchan, got, c.want)
		}
	}
	for _, letter := range "ZXx" {
		if _, ok := threadState(byte(letter), ""); ok {
			t.Errorf("%c counts as alive", letter)
		}
	}
}
