package live

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// awaited is a recording of twenty seconds of a server whose coroutines waited so long in these stacks.
func awaited(stacks map[string]float64) filler {
	run := &recording.Run{}
	for subject, seconds := range stacks {
		run.Series = append(run.Series, recording.Series{
			Signal: recording.AwaitStack, Subject: "process/7;loop;" + subject, T: []float64{0, 20}, V: []float64{0, seconds},
		})
	}
	l := filler{Case: diagnose.NewCase(), run: run}
	l.From, l.To, l.Costs.Window.PID = 0, 20, 7
	return l
}

// A suspended coroutine is on no thread's stack. What keeps requests back comes before those that wait for it.
func TestTheLineThatACoroutineAwaits(t *testing.T) {
	for name, c := range map[string]struct {
		stacks map[string]float64
		line   int
		kind   diagnose.Kind
	}{
		"a lock over an upload": {map[string]float64{
			"request;/srv/app.py:136 predict;asyncio/locks.py:15 _ContextManagerMixin.__aenter__;asyncio/locks.py:114 Lock.acquire": 45,
			"request;/srv/app.py:131 upload;aiohttp/client.py:1756 __aenter__;aiohttp/streams.py:716 DataQueue.read":                11,
			"thread;/srv/app.py:137 predict;asyncio/threads.py:25 to_thread":                                                        40,
		}, 131, diagnose.Service},
		"a batch that waits for more": {map[string]float64{
			"request;/srv/app.py:37 predict":                                 120,
			"task;/srv/app.py:25 batcher;asyncio/tasks.py:476 wait_for":      14,
			"task;/srv/app.py:90 main;uvicorn/server.py:82 Server.main_loop": 20,
		}, 25, diagnose.Timer},
		"a sleep": {map[string]float64{
			"request;/srv/app.py:9 predict;asyncio/tasks.py:649 sleep":  30,
			"task;/srv/app.py:25 batcher;asyncio/tasks.py:476 wait_for": 14,
		}, 9, diagnose.Timer},
		"all threads are taken": {map[string]float64{
			"request;anyio/_backends/_asyncio.py:20 CapacityLimiter.acquire_on_behalf_of;asyncio/locks.py:213 Event.wait":     80,
			"request;anyio/to_thread.py:63 run_sync;anyio/_backends/_asyncio.py:976 AsyncIOBackend.run_sync_in_worker_thread": 90,
		}, 213, diagnose.ThreadPool},
		"a body that comes slowly": {map[string]float64{
			"request;uvicorn/protocols/http/h11_impl.py:9 RequestResponseCycle.receive;asyncio/locks.py:213 Event.wait": 30,
		}, 213, diagnose.Client},
		"an answer in pieces": {map[string]float64{
			"request;starlette/responses.py:255 StreamingResponse.stream_response;starlette/concurrency.py:65 iterate_in_threadpool": 70,
			"request;/srv/app.py:9 predict;asyncio/locks.py:114 Lock.acquire":                                                        3,
		}, 65, diagnose.Pieces},
		"a library yields": {map[string]float64{
			"request;asyncio/tasks.py:640 sleep;asyncio/tasks.py:634 __sleep0": 30,
			"request;/srv/app.py:9 predict;asyncio/locks.py:114 Lock.acquire":  3,
		}, 9, diagnose.Held},
		"a batch of grpc.aio, whose own coroutines are native": {map[string]float64{
			"task;/srv/app.py:18 gather;asyncio/tasks.py:649 sleep":        36,
			"thread;/srv/app.py:27 encode;asyncio/threads.py:25 to_thread": 4,
		}, 18, diagnose.Timer},
		"one thread of a pool for all": {map[string]float64{
			"request;/srv/app.py:28 predict": 100,
			"pool;/srv/app.py:24 fetch;urllib/request.py:215 urlopen;socket.py:706 SocketIO.readinto": 80,
		}, 24, diagnose.OnePool},
		"the pool of the model": {map[string]float64{
			"request;/srv/app.py:28 predict;asyncio/tasks.py:649 sleep":       3,
			"pool;/srv/app.py:56 infer;stoker/emulated.py:197 Device.item":    80,
			"pool;concurrent/futures/thread.py:81 _worker;queue.py:180 Queue": 9,
		}, 28, diagnose.Timer},
		"threads have it": {map[string]float64{"thread;/srv/app.py:137 predict;asyncio/threads.py:25 to_thread": 40}, 0, ""},
	} {
		lines, _ := awaited(c.stacks).findAwaits()
		if c.line == 0 {
			if len(lines) > 0 {
				t.Errorf("%s: %v", name, lines)
			}
			continue
		}
		if len(lines) == 0 || lines[0].Where().Line != c.line || lines[0].Kind != c.kind {
			t.Errorf("%s: %+v, expected line %d, %s", name, lines, c.line, c.kind)
		}
	}
}

// The line that waits for a lock is named with the line on which the lock's owner waits.
func TestTheLockThatIsHeldOverAWait(t *testing.T) {
	found, _ := awaited(map[string]float64{
		"request;/srv/app.py:136 predict;asyncio/locks.py:15 __aenter__;asyncio/locks.py:114 Lock.acquire": 45,
		"request;/srv/app.py:131 upload;httpx/_client.py:9 AsyncClient.send":                               11,
	}).findAwaits()
	lines := diagnose.LoopLines{Awaits: found}
	if line, found := lines.BeforeLock(); !found || line.Own.Line != 136 {
		t.Errorf("%+v, %v", line, found)
	}
	if line, found := lines.FirstHeld(); !found || line.Own.Line != 131 {
		t.Errorf("%+v, %v", line, found)
	}
}

// A process that has loaded torch and takes requests works for them, though the model runs in another process, and what
// pickles them is named by the program's line that takes them.
func TestRequestsThatGoToAnotherProcess(t *testing.T) {
	run := &recording.Run{Series: []recording.Series{
		{Signal: recording.RequestsCame, Subject: "process/8", T: []float64{0, 20}, V: []float64{0, 60}},
		{Signal: recording.FetchLooks, Subject: "process/8;loop", T: []float64{0, 20}, V: []float64{0, 300}},
		{Signal: recording.FetchLooks, Subject: "process/7;loop", T: []float64{0, 20}, V: []float64{0, 300}},
		{
			Signal: recording.FetchStack, T: []float64{0, 20}, V: []float64{0, 13},
			Subject: "process/8;loop;core;threading.py:1002 Thread._bootstrap;multiprocessing/reduction.py:51 ForkingPickler.dumps",
		},
		{
			Signal: recording.FetchStack, T: []float64{0, 20}, V: []float64{0, 4},
			Subject: "process/7;loop;core;/srv/app.py:68 clips;multiprocessing/queues.py:122 Queue.get",
		},
	}}
	run.Facts.Processes = []recording.Process{
		{PID: 8, Role: recording.RoleTrainer, Device: -1}, {PID: 7, Role: recording.RoleTrainer}, {PID: 9, Role: recording.RoleTrainer},
	}
	l := filler{Case: diagnose.NewCase(), run: run}
	l.From, l.To, l.Costs.Window.PID = 0, 20, 7
	if l.LoopLines = l.findServerLines(); l.sumWork() != 17 {
		t.Errorf("they work %.0f s, expected 17", l.sumWork())
	}
	if line, found := l.LoopLines.FirstWork(); !found || line.Own.Line != 68 || line.Kind != diagnose.Messages {
		t.Errorf("%+v, %v", line, found)
	}
}

// Of 74 requests at a time 38 wait for a thread, and of the threads that others have nearly all wait for another service:
// a larger pass would find no requests.
func TestRequestsThatWaitForNoPass(t *testing.T) {
	l := awaited(map[string]float64{
		"request;anyio/_backends/_asyncio.py:20 CapacityLimiter.acquire_on_behalf_of;asyncio/locks.py:213 Event.wait":     760,
		"request;anyio/to_thread.py:63 run_sync;anyio/_backends/_asyncio.py:976 AsyncIOBackend.run_sync_in_worker_thread": 700,
	})
	l.run.Series = append(l.run.Series, recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;lock;queue.py:171 get"})
	l.LoopLines.Awaits, l.LoopLines.InThreads = l.findAwaits()
	l.LoopLines.Lines = []diagnose.LoopLine{
		{Line: diagnose.Line{Kind: diagnose.Held}, Seconds: 86, Asleep: 86}, {Line: diagnose.Line{Kind: diagnose.DeviceWait}, Seconds: 2},
	}
	l.Requests.Flight, l.Requests.Batch, l.Requests.None, l.Requests.Count = 74, 1, 0, 500
	if q := l.askPassesSmall(); q.Score > 0 {
		t.Errorf("passes are too small with %.2f: %s", q.Score, q.Answer)
	}
	if l.LoopLines.Awaits = nil; l.waitElsewhere() < 30 || l.waitElsewhere() > 40 {
		t.Errorf("%.0f wait elsewhere, expected those of the threads", l.waitElsewhere())
	}
}

// Times on a core and in other states come from two clocks, and what is said of them adds up to no more than all.
func TestThreadsTimeAddsUp(t *testing.T) {
	w := whereabouts{OnCore: 0.30, Queued: math.NaN(), Disk: 0, Remote: 0, Asleep: 0.66, Parked: 0.24}
	if text := w.String(); !strings.Contains(text, "on a core 25 % of the time, asleep 55 %") || !strings.Contains(text, "a socket 20 %") {
		t.Error(text)
	}
}

// A coroutine that waits until the server ends holds no request.
func TestAServersEndIsAwaitedByNoRequest(t *testing.T) {
	l := awaited(map[string]float64{
		"thread;/srv/app.py:9 tell;asyncio/threads.py:25 to_thread":                  30,
		"task;/srv/app.py:27 main;grpc/aio/_server.py:9 Server.wait_for_termination": 20,
	})
	if lines, _ := l.findAwaits(); len(lines) > 0 {
		t.Errorf("%+v", lines)
	}
}
