package live

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// holdsBy has the libraries in which a request is held, and no core works for it.
var holdsBy = kindsByFile{
	{diagnose.Client, []string{
		"gunicorn/http/", "gunicorn/sock.py", "waitress/channel.py", "wsgiref/", "starlette/requests.py",
		"uvicorn/protocols/", "aiohttp/web_response.py", "aiohttp/web_request.py", "aiohttp/streams.py",
	}},
	{diagnose.Service, []string{
		"urllib3/", "urllib/", "requests/", "http/client.py", "logging/handlers.py", "httpx/", "httpcore/",
		"aiohttp/client", "aiohttp/connector.py", "redis/", "psycopg", "asyncpg/", "pymysql/", "aiomysql/", "pymongo/",
		"motor/", "sqlalchemy/", "botocore/", "boto3/", "aiobotocore/", "openai/", "grpc/_channel.py",
		"grpc/aio/_call.py", "aio_pika/", "confluent_kafka/", "aiokafka/", "asyncio/streams.py",
	}},
	{diagnose.Timer, []string{"asyncio/timeouts.py", "ray/serve/batching.py"}},
}

// waitKind is why a coroutine is suspended.
type waitKind int

const (
	holds    waitKind = iota // for something outside of the program, or a timer
	forLock                  // which another coroutine has
	forTask                  // for what another coroutine, or a thread, is to give
	inThread                 // for a thread of a pool that works for it
	inPool                   // of calls that wait for a thread of a pool: what one of its threads does
	idles                    // for work
)

// limitsThreads reports whether a function belongs to anyio's limit on threads, which Starlette uses.
func limitsThreads(p recording.Place) bool { return strings.HasPrefix(p.Function, "CapacityLimiter.") }

// ofDevice reports whether a stack is within a pass of the model, or a call of the device.
func ofDevice(s recording.Stack) bool {
	return slices.ContainsFunc(s.Places, isForward) || slices.Contains(diagnose.OfDevice, kindOfServer(s))
}

// kindOfAwait is why a coroutine is suspended, by the functions that its line awaits, and the kind of its line.
func kindOfAwait(s recording.Stack) (waitKind, diagnose.Kind) {
	inner, call := s.Places[len(s.Places)-1], s.Places[min(1, len(s.Places)-1)]
	switch {
	case slices.ContainsFunc(s.Places, limitsThreads):
		return holds, diagnose.ThreadPool
	case slices.ContainsFunc(s.Places, recording.Place.TakesPieces):
		return holds, diagnose.Pieces
	case s.Awaits == recording.OfPool && (ofDevice(s) || !slices.ContainsFunc(s.Places, recording.Place.Own)):
		return idles, "" // the model's own pool, or one whose threads take the next call
	case s.Awaits == recording.OfPool:
		return inPool, diagnose.OnePool
	case s.Awaits == recording.OfThread, strings.Contains(inner.Function, "run_sync_in_worker_thread"):
		return inThread, ""
	case !strings.HasPrefix(call.File, "asyncio/") && startsWithAny(call.File, serves), startsWithAny(inner.File, []string{"uvicorn/lifespan/"}),
		strings.HasSuffix(inner.Function, "__sleep0"):
		return idles, "" // it serves, or is about to go on
	}
	own := s.Places[0].Own()
	for _, p := range s.Places {
		if kind := holdsBy.find(p.File); kind != "" && (own || kind == diagnose.Client) {
			return holds, kind
		}
		if own && p.File == "asyncio/tasks.py" && (p.Function == "sleep" || p.Function == "wait_for") {
			return holds, diagnose.Timer
		}
	}
	switch ofLocks := inner.File == "asyncio/locks.py" || strings.Contains(inner.Function, "Lock."); {
	case !own, inner.Own(), inner.File == "asyncio/queues.py", strings.HasPrefix(inner.Function, "Event."):
		return forTask, diagnose.Held
	case ofLocks:
		return forLock, diagnose.Held
	}
	return holds, diagnose.Held
}

// awaits are lines on which coroutines wait, by why.
type awaits struct {
	lines  map[waitKind]*diagnose.LoopLines
	places map[waitKind]map[string]int
}

func (a awaits) add(why waitKind, line diagnose.Line, s recording.Stack) {
	if a.lines[why] == nil {
		a.lines[why], a.places[why] = &diagnose.LoopLines{}, map[string]int{}
	}
	a.lines[why].Seconds += s.Seconds
	if why == forLock {
		s.Awaits = recording.AwaitsLock
	}
	addStack(a.lines[why], a.places[why], line.Where().String()+string(line.Kind), line, s)
}

func (a awaits) secondsOf(why waitKind) float64 {
	if a.lines[why] == nil {
		return 0
	}
	return a.lines[why].Seconds
}

// findAwaits finds the lines on which coroutines of the server's requests wait, the reason first. Those that wait for a
// lock or for another coroutine come behind what that one awaits.
func (l filler) findAwaits() (lines []diagnose.LoopLine, inThreads float64) {
	requests := awaits{map[waitKind]*diagnose.LoopLines{}, map[waitKind]map[string]int{}}
	others := awaits{map[waitKind]*diagnose.LoopLines{}, map[waitKind]map[string]int{}}
	for _, pid := range l.serverPIDs() {
		for _, s := range l.run.AwaitStacks(l.From, l.To, pid) {
			if len(s.Places) == 0 {
				continue
			}
			why, kind := kindOfAwait(s)
			own, call := splitServerStack(s)
			line := diagnose.Line{Own: own, Call: call, Kind: kind}
			switch {
			case s.Awaits != recording.OfTask:
				requests.add(why, line, s)
			case own.File != "":
				others.add(why, line, s)
			}
		}
	}
	all := 0.0
	for _, why := range []waitKind{holds, forLock, forTask, inThread} {
		all += requests.secondsOf(why)
	}
	of := requests.lines
	sources := []*diagnose.LoopLines{of[holds], of[inPool], of[forLock], of[forTask]}
	if requests.secondsOf(inPool) > requests.secondsOf(holds) {
		sources[0], sources[1] = sources[1], sources[0]
	}
	// another task keeps back what they are to be given. Coroutines of grpc.aio's own are native, and are not seen.
	if all == requests.secondsOf(inThread) || requests.secondsOf(forTask) > requests.secondsOf(holds) {
		sources = slices.Insert(sources, 0, others.lines[holds])
	}
	for _, source := range sources {
		if source == nil {
			continue
		}
		// of a library's handler that waits for the process of the model nothing tells why
		source.Lines = slices.DeleteFunc(source.Lines, func(line diagnose.LoopLine) bool {
			return line.Kind == diagnose.Held && line.Own.File == ""
		})
		slices.SortStableFunc(source.Lines, func(a, b diagnose.LoopLine) int {
			return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.String(), b.String()))
		})
		lines = append(lines, source.Lines...)
	}
	for i := range lines {
		lines[i].Share = stoker.Exactly(min(1, lines[i].Seconds/max(all, lines[i].Seconds)))
	}
	return lines, requests.secondsOf(inThread)
}
