package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
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

// Of threads that take a lock in turn, the one that sleeps under it is why the others wait.
func TestTheHolderOfALockComesFirst(t *testing.T) {
	at := func(line int, function string) diagnose.Line {
		return diagnose.Line{Own: recording.Place{File: "/srv/app.py", Line: line, Function: function}, Kind: diagnose.Held}
	}
	lines := []diagnose.LoopLine{
		{Line: at(23, "predict"), Seconds: 72, Asleep: 72, Locked: 72},
		{Line: at(90, "beat"), Seconds: 24, Asleep: 24},
		{Line: at(25, "predict"), Seconds: 20, Asleep: 20},
	}
	holdersFirst(lines)
	for i, want := range []int{25, 23, 90} {
		if got := lines[i].Own.Line; got != want {
			t.Errorf("line %d comes at %d, expected %d", got, i, want)
		}
	}
}

func TestTokenizersAreKnownByTheirFunctions(t *testing.T) {
	for function, want := range map[string]diagnose.Kind{
		"SlowWords.convert_tokens_to_string": diagnose.Tokenizes, "Own._convert_token_to_id": diagnose.Tokenizes,
		"WordTokenizer.encode": diagnose.Tokenizes, "check_token": diagnose.PerRequest,
	} {
		s := recording.Stack{Places: []recording.Place{{File: "/srv/own.py", Line: 3, Function: function}}}
		if got := kindOfServer(s); got != want {
			t.Errorf("%s is %v, expected %v", function, got, want)
		}
	}
}
