package live

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A thread that serves sleeps until a request comes, from whichever line the program called its server. One that
// sleeps for a request is held.
func TestThreadsThatWaitForRequests(t *testing.T) {
	own, wait := recording.Place{File: "/srv/app.py", Line: 9, Function: "main"}, recording.Place{File: "threading.py", Line: 331}
	for name, c := range map[string]struct {
		places []recording.Place
		awaits bool
	}{
		"a pool's thread":          {[]recording.Place{{File: "concurrent/futures/thread.py"}, wait}, true},
		"gRPC, called in main":     {[]recording.Place{own, {File: "grpc/_server.py"}, wait}, true},
		"uvicorn, called in main":  {[]recording.Place{own, {File: "uvicorn/main.py"}, {File: "selectors.py"}}, true},
		"a lock in a handler":      {[]recording.Place{{File: "uvicorn/main.py"}, own, wait}, false},
		"a program that is waited": {[]recording.Place{own, {File: "subprocess.py"}, {File: "selectors.py"}}, false},
		"asleep in a handler":      {[]recording.Place{{File: "socketserver.py"}, own}, false},
	} {
		if got := awaitsWork(recording.Stack{Places: c.places, Asleep: true}); got != c.awaits {
			t.Errorf("%s: waits for work is %v, expected %v", name, got, c.awaits)
		}
	}
}
