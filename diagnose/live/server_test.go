package live

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
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
		"waitress, called in main": {[]recording.Place{own, {File: "waitress/__init__.py"}, {File: "waitress/wasyncore.py"}}, true},
		"a worker of gunicorn":     {[]recording.Place{{File: "gunicorn/arbiter.py"}, {File: "gunicorn/workers/sync.py"}}, true},
		"a slow client":            {[]recording.Place{{File: "gunicorn/arbiter.py"}, {File: "gunicorn/http/wsgi.py"}}, false},
		"a lock in a handler":      {[]recording.Place{{File: "uvicorn/main.py"}, own, wait}, false},
		"a program that is waited": {[]recording.Place{own, {File: "subprocess.py"}, {File: "selectors.py"}}, false},
		"a loop of Ray's":          {[]recording.Place{{File: "ray/serve/_private/replica.py", Function: "_run_user_code_event_loop"}}, true},
		"an event loop's poll":     {[]recording.Place{{File: "asyncio/base_events.py"}, {File: "selectors.py"}}, true},
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

// If no thread sleeps under the lock, its owner works: those that wait for it are not why the device idles.
func TestWaitersForALockThatIsInUse(t *testing.T) {
	at := recording.Place{File: "/srv/app.py", Line: 26, Function: "do_POST"}
	lines := []diagnose.LoopLine{
		{Line: diagnose.Line{Own: at, Kind: diagnose.Held}, Seconds: 12, Asleep: 12, Locked: 12},
		{Line: diagnose.Line{Own: recording.Place{File: at.File, Line: 18}, Kind: diagnose.DeviceWait}, Seconds: 12},
	}
	holdersFirst(lines)
	if got := lines[0].Kind; got != diagnose.Queueing {
		t.Errorf("they are %v", got)
	}
	l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
	l.From, l.To, l.Requests.None, l.Requests.PassShare = 0, 20, 0, 0.2
	l.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 24, Lines: lines}
	if p := l.splitServer(0.8); p.Awaited != 0 || p.Unnamed < 0.3 {
		t.Errorf("nobody works %.2f of the time, unnamed %.2f", p.Awaited, p.Unnamed)
	}
}

// Launches and waits behind the pass keep the device waiting like those within it.
func TestLaunchesBehindAPass(t *testing.T) {
	l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
	inside := &recording.Inside{Span: 0.1, Launches: new(1800.0), LaunchTime: new(0.03), Syncs: new(1800.0), SyncTime: new(0.05)}
	l.Costs.Window.Steps, l.Costs.HostStep = []recording.Step{{Inside: inside}}, 0.1
	l.From, l.To, l.Requests.None, l.Requests.PassShare = 0, 20, 0, 0.2
	if p := l.splitServer(0.7); p.Host < 0.49 || p.Host > 0.51 {
		t.Errorf("launches keep it waiting %.2f of the time, expected 0.5", p.Host)
	}
}

// Threads that live for one request are found by no look at stacks. That their process wants a core tells work from a wait.
func TestWorkOfThreadsThatNoLookFound(t *testing.T) {
	for name, c := range map[string]struct {
		wants, seen float64 // share of the counts, seconds of looks
		want        string
	}{
		"it wants a core all the time":        {1, 0.1, "host 0.50 waits 0.00"},
		"it sleeps":                           {0.1, 0.1, "host 0.00 waits 0.38"},
		"half the time it wants one":          {0.5, 0.1, "host 0.00 waits 0.00"},
		"looks have found what its passes do": {1, 10, "host 0.00 waits 0.50"},
	} {
		run := &recording.Run{Series: []recording.Series{{Signal: recording.ProcessWants, Subject: "process/7"}}}
		for n := range 26 {
			count := 0.0
			if float64(n)+0.5 < 26*c.wants {
				count = 2
			}
			run.Series[0].T, run.Series[0].V = append(run.Series[0].T, float64(n)), append(run.Series[0].V, count)
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.From, l.To, l.Costs.Window.PID = 0, 26, 7
		l.Requests.PassShare, l.Requests.None, l.LoopLines.Looks, l.LoopLines.Seconds = 0.5, 0, 30, c.seen
		p := l.splitServer(0.5)
		if got := fmt.Sprintf("host %.2f waits %.2f", p.Long, p.Awaited); got != c.want {
			t.Errorf("%s: %s, expected %s", name, got, c.want)
		}
	}
}

// A look finds a line on a core when it waits for one, too.
func TestAServersLineWorksOrWaits(t *testing.T) {
	for name, c := range map[string]struct {
		line diagnose.LoopLine
		want diagnose.Kind
	}{
		"a data base's lock, on a crowded machine": {diagnose.LoopLine{Seconds: 12, Asleep: 7.1}, diagnose.Held},
		"a loop that needs the interpreter's lock": {diagnose.LoopLine{Seconds: 12, Asleep: 7.1, Locked: 6.5}, diagnose.PerRequest},
		"nearly always asleep under a lock":        {diagnose.LoopLine{Seconds: 12, Asleep: 11, Locked: 11}, diagnose.Held},
	} {
		c.line.Kind = diagnose.PerRequest
		l := filler{Case: diagnose.NewCase()}
		if l.settleServerLine(&c.line); c.line.Kind != c.want {
			t.Errorf("%s is %v, expected %v", name, c.line.Kind, c.want)
		}
	}
}

// What a model's library does for a request outside of the model is the host's work.
func TestSuppressionAfterThePassIsWork(t *testing.T) {
	own, nms := recording.Place{File: "/srv/app.py", Line: 9, Function: "predict"}, recording.Place{File: "torchvision/ops/boxes.py", Function: "nms"}
	if got := kindOfServer(recording.Stack{Places: []recording.Place{own, nms}}); got != diagnose.PerRequest {
		t.Errorf("in a handler it is %v", got)
	}
	own.Function = "Detector.forward"
	if got := kindOfServer(recording.Stack{Places: []recording.Place{own, nms}}); got != diagnose.Launching {
		t.Errorf("in the model it is %v", got)
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

func TestWhatAServerDoesForARequest(t *testing.T) {
	own := recording.Place{File: "/srv/app.py", Line: 9, Function: "predict"}
	for name, c := range map[string]struct {
		places []recording.Place
		native string
		want   diagnose.Kind
	}{
		"a layer is made":      {[]recording.Place{own, {File: "torch/nn/modules/linear.py", Function: "Linear.__init__"}}, "", diagnose.Loads},
		"weights are read":     {[]recording.Place{own, {File: "torch/serialization.py", Function: "load"}}, "", diagnose.Loads},
		"a module is imported": {[]recording.Place{own, {File: "frozen importlib._bootstrap", Function: "_find_and_load"}}, "", diagnose.Loads},
		"its own function":     {[]recording.Place{{File: own.File, Function: "load_model"}}, "", diagnose.Loads},
		"a layer is called":    {[]recording.Place{own, {File: "torch/nn/modules/linear.py", Function: "Linear.forward"}}, "", diagnose.Launching},
		"a deep copy":          {[]recording.Place{own, {File: "copy.py", Function: "deepcopy"}}, "", diagnose.DeepCopies},
		"a model is moved":     {[]recording.Place{own, {File: "torch/nn/modules/module.py", Function: "Module.to"}}, "", diagnose.Copying},
		"a tensor is moved":    {[]recording.Place{own}, "device", diagnose.Copying},
		"a data base":          {[]recording.Place{own}, "execute", diagnose.Database},
		"a log":                {[]recording.Place{own, {File: "logging/__init__.py", Function: "Logger.info"}}, "", diagnose.RequestLogs},
		"an answer is packed":  {[]recording.Place{{File: "starlette/middleware/gzip.py", Function: "GZipResponder._compress_body"}}, "", diagnose.Packing},
		"JSON is read":         {[]recording.Place{own, {File: "json/__init__.py", Function: "loads"}, {File: "json/decoder.py", Function: "JSONDecoder.raw_decode"}}, "", diagnose.RequestData},
		"JSON is written":      {[]recording.Place{own, {File: "json/__init__.py", Function: "dumps"}, {File: "json/encoder.py", Function: "JSONEncoder.iterencode"}}, "", diagnose.Encoding},
		"anything else":        {[]recording.Place{own}, "", diagnose.PerRequest},
	} {
		if got := kindOfServer(recording.Stack{Places: c.places, Native: c.native}); got != c.want {
			t.Errorf("%s is %v, expected %v", name, got, c.want)
		}
	}
}

// A thread that sleeps in a library which asks another service is held by that, however deep. If it runs the event loop, that
// stops for all.
func TestAThreadThatWaitsForAService(t *testing.T) {
	for onLoop, want := range map[bool]diagnose.Kind{false: diagnose.Service, true: diagnose.Blocking} {
		l, all, places := filler{Case: diagnose.NewCase()}, diagnose.LoopLines{}, map[string]int{}
		addServerStack(&all, places, recording.Stack{Seconds: 9, Asleep: true, OnLoop: onLoop, Places: []recording.Place{
			{File: "/srv/app.py", Line: 9}, {File: "requests/api.py", Function: "post"}, {File: "socket.py", Function: "SocketIO.readinto"},
		}})
		if l.settleServerLine(&all.Lines[0]); all.Lines[0].Kind != want {
			t.Errorf("on the event loop %v: %v, expected %v", onLoop, all.Lines[0].Kind, want)
		}
	}
}

// A result that a thread is to give is waited for at a lock. On the event loop that stops it; a lock of the program's has
// an owner that says more.
func TestAnEventLoopThatWaitsForAThread(t *testing.T) {
	for file, want := range map[string]diagnose.Kind{"concurrent/futures/_base.py": diagnose.Blocking, "threading.py": diagnose.Held} {
		l, all, places := filler{Case: diagnose.NewCase()}, diagnose.LoopLines{}, map[string]int{}
		addServerStack(&all, places, recording.Stack{Seconds: 9, Asleep: true, Awaits: recording.AwaitsLock, OnLoop: true, Places: []recording.Place{
			{File: "/srv/app.py", Line: 20, Function: "worth"},
			{File: file, Function: "Future.result"},
			{File: "threading.py", Function: "Condition.wait"},
		}})
		if l.settleServerLine(&all.Lines[0]); all.Lines[0].Kind != want {
			t.Errorf("in %s: %v, expected %v", file, all.Lines[0].Kind, want)
		}
	}
}

// Calls of a module that take far longer than its launches can are its work on the CPU, beside a model on the device.
func TestAModuleOnTheCPUBesideTheDevice(t *testing.T) {
	forward := recording.Place{File: "/srv/app.py", Line: 27, Function: "Upsample.forward"}
	for name, c := range map[string]struct {
		launches float64 // of a pass
		seconds  float64 // in calls of modules, of 20
		want     diagnose.Kind
	}{
		"one launch, and 90 ms of calls":     {1, 9, diagnose.OnHost},
		"300 launches in as long":            {300, 9, diagnose.Launching},
		"one launch, and hardly any calls":   {1, 0.5, diagnose.Launching},
		"a model whose launches are unknown": {math.NaN(), 9, diagnose.Launching},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.From, l.To = 0, 20
		for range 100 {
			inside := &recording.Inside{Span: 0.2, Launches: new(c.launches), LaunchTime: new(0.001), Syncs: new(1.0), SyncTime: new(0.05)}
			l.Costs.Window.Steps = append(l.Costs.Window.Steps, recording.Step{Inside: inside})
		}
		lines := []diagnose.LoopLine{
			{Line: diagnose.Line{Own: forward, Kind: diagnose.Launching}, Seconds: c.seconds},
			{Line: diagnose.Line{Own: recording.Place{File: "/srv/app.py", Line: 9, Function: "answer"}, Kind: diagnose.PerRequest}, Seconds: 3},
		}
		l.nameModulesOnHost(lines)
		if lines[0].Kind != c.want || lines[1].Kind != diagnose.PerRequest {
			t.Errorf("%s: %v and %v, expected %v", name, lines[0].Kind, lines[1].Kind, c.want)
		}
	}
}

// transformers' pipelines make a loader for each list that they are given. Any other loader is that of a loop.
func TestTheBatchOfPipelines(t *testing.T) {
	loader := func(reader string, size int) recording.Loader {
		return recording.Loader{PID: 7, Reader: reader, Settings: stoker.Settings{stoker.BatchSize: size}}
	}
	pipeline := "transformers.pipelines.pt_utils.PipelineDataset"
	for name, c := range map[string]struct {
		loaders []recording.Loader
		batch   float64
		all     bool
	}{
		"a pipeline":              {[]recording.Loader{loader(pipeline, 1)}, 1, true},
		"two, of several sizes":   {[]recording.Loader{loader(pipeline, 1), loader(pipeline, 8)}, 8, true},
		"one beside a data set":   {[]recording.Loader{loader(pipeline, 1), loader("data.Photos", 8)}, 0, false},
		"no loader":               {nil, 0, false},
		"that of another process": {[]recording.Loader{{PID: 8, Reader: pipeline}}, 0, false},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.run.Facts.Loaders, l.Costs.Window.PID = c.loaders, 7
		if batch, all := l.batchOfPipelines(); batch != c.batch || all != c.all {
			t.Errorf("%s: %v, %v, expected %v, %v", name, batch, all, c.batch, c.all)
		}
	}
}

// The advice for a server's line names the kind of its work.
func TestWhatAServersLineWorks(t *testing.T) {
	for _, c := range []struct{ function, native, says string }{
		{"tensor_of", "array", "torch.from_numpy"},
		{"Library.nearest", "numpy", "faiss"},
		{"rank", "sort", "argpartition"},
		{"Catalogue.numbers", "search", "dictionary"},
		{"post_process", loopOfPython, "batched_nms"},
		{"rude_words", "re", "alternation"},
		{"keep", "write", "fsync"},
		{"clean", "", "lru_cache"},
	} {
		all, places := diagnose.LoopLines{}, map[string]int{}
		addServerStack(&all, places, recording.Stack{Seconds: 9, Native: c.native, Places: []recording.Place{
			{File: "/srv/app.py", Line: 9, Function: c.function},
		}})
		if got := all.Lines[0].ServerAdvice(true); !strings.Contains(got, c.says) || !strings.Contains(got, "beside the model") {
			t.Errorf("of %s: %s", c.function, got)
		}
	}
}

// Requests of many passes are answered seldom: where twelve are there and each pass takes one, its passes tell.
func TestFewRequestsOfManyPasses(t *testing.T) {
	for passes, small := range map[int]bool{5: false, 400: true} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.Costs.Window.Steps = make([]recording.Step, passes)
		l.Requests.Flight, l.Requests.Batch, l.Requests.None, l.Requests.Count, l.Requests.PassShare = 12, 1, 0, 15, 0.9
		l.From, l.To, l.Idle, l.Parts.Unasked = 0, 40, 0.1, 0
		if q := l.askPassesSmall(); (q.Score > 0.9) != small {
			t.Errorf("%d passes: too small with %.2f: %s", passes, q.Score, q.Answer)
		}
	}
}

// Two processes that run the model share the requests: eight are four for each.
func TestRequestsOfEachProcess(t *testing.T) {
	for sides, want := range map[int]float64{0: 8, 1: 8, 2: 4} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.Requests.Flight, l.Requests.Batch, l.Requests.Sides, l.To = 8, 1, sides, 60
		if got := l.requestsOfPasses().Flight; got != want {
			t.Errorf("%d processes: %g requests at a time, expected %g", sides, got, want)
		}
	}
}

// A device that is busy for most of the time leads what keeps it waiting for the rest, as in a trace.
func TestABusyDeviceLeadsAServer(t *testing.T) {
	for name, c := range map[string]struct {
		busy, unasked float64
		leads         bool
	}{
		"84 % busy":                        {0.84, 0, true},
		"of the time with requests, 84 %":  {0.67, 0.2, true},
		"half of the time":                 {0.5, 0, false},
		"as long as the host keeps it off": {0.6, 0, false},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.Util, l.Parts = c.busy, diagnose.Parts{Unasked: c.unasked, Long: 1 - c.unasked - c.busy}
		l.HostServes = l.askHostServes()
		l.DeviceBusy = l.askServerBusy()
		l.leaveToDevice()
		if busy, host := l.DeviceBusy.Score, l.HostServes.Score; (busy > 0.9) != c.leads || (host < 0.1) != c.leads {
			t.Errorf("%s: busy %.2f, the host %.2f", name, busy, host)
		}
	}
}

// A server that nobody asks makes no step, and does not hang.
func TestAServerThatNobodyAsksDoesNotHang(t *testing.T) {
	for none, hangs := range map[float64]bool{1: false, 0: true} {
		run := &recording.Run{Series: []recording.Series{
			{Signal: recording.TreeCPU, Subject: "tree"}, {Signal: recording.Unasked, Subject: "process/7"},
		}}
		for i, rate := range []float64{0.01, none} {
			for t := range 121 {
				s := &run.Series[i]
				s.T, s.V = append(s.T, float64(t)), append(s.V, rate*float64(t))
			}
		}
		for n := range 30 {
			run.Steps = append(run.Steps, recording.Step{PID: 7, N: n, Start: 0.1 * float64(n), Period: 0.1})
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		if _, got := l.findHung(); got != hangs {
			t.Errorf("no request %g of the time: it hangs is %v", none, got)
		}
	}
}

// Boxes and words that are drawn for an answer are no transform of a model's input.
func TestADrawingIsAnAnswer(t *testing.T) {
	s := recording.Stack{Places: []recording.Place{{File: "/srv/app.py", Line: 14, Function: "draw"}, {File: "PIL/ImageDraw.py", Function: "ImageDraw.text"}}}
	if got := workOfServer(s); got != diagnose.Plotting {
		t.Errorf("it is %s", got)
	}
}
