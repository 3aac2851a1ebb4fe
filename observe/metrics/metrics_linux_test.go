package metrics

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

// TestMain is also the program of a server that serves a page, for tests that look for one.
func TestMain(m *testing.M) {
	page := os.Getenv("STOKER_TEST_PAGE")
	if page == "" {
		os.Exit(leash.Main(m))
	}
	at, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	panic(http.Serve(at, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serveFile(w, page) })))
}

func serveFile(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	text, _ := os.ReadFile(page)
	_, _ = w.Write(text)
}

func say(f figures) string {
	return fmt.Sprintf("running %g waiting %g cache %g preempted %g done %g passes %g samples %g seconds %.4g within %v",
		f.running, f.waiting, f.cache, f.preempted, f.done, f.passes, f.samples, f.seconds, len(f.within))
}

func TestEachServersPageIsUnderstood(t *testing.T) {
	for file, want := range map[string]string{
		"vllm":   "running 0 waiting 0 cache 0 preempted 0 done 1 passes 8 samples NaN seconds 0.09114 within 22",
		"sglang": "running 162 waiting 2826 cache 0.28 preempted 3 done 11228 passes NaN samples NaN seconds 3.116e+06 within 3",
		"tgi":    "running 4 waiting 5 cache NaN preempted NaN done 401 passes 4120 samples NaN seconds 320.5 within 3",
		"triton": "running NaN waiting 3 cache NaN preempted NaN done 201 passes 200 samples 400 seconds 2 within 0",
	} {
		f, err := parseFile(file)
		if got := say(f); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", file, err, got, want)
		}
	}
}

// Lines that people recorded from versions whose names and labels differ, and what SGLang's collector writes for replicas
// and priorities.
func TestOtherVersionsArePagesOfTheSameServer(t *testing.T) {
	for name, c := range map[string]struct{ server, page, want string }{
		"vLLM 0.6": {
			"vllm", `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="qwen"} 5.0
vllm:num_requests_waiting{model_name="qwen"} 2.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{model_name="qwen"} 0.734
vllm:request_success_total{model_name="qwen",finished_reason="stop"} 1234.0
`, "running 5 waiting 2 cache 0.734 preempted NaN done 1234",
		},
		"vLLM 0.9, both names": {
			"vllm", `# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.5
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.7
`, "running 0 waiting NaN cache 0.6 ",
		},
		"SGLang 0.5.1 (sgl-project/sglang#13485)": {
			"sglang", `# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="Qwen-32B",pp_rank="0",tp_rank="0"} 1.0
# TYPE sglang:num_used_tokens gauge
sglang:num_used_tokens{engine_type="unified",model_name="Qwen-32B",pp_rank="0",tp_rank="0"} 1.0
# TYPE sglang:token_usage gauge
sglang:token_usage{engine_type="unified",model_name="Qwen-32B",pp_rank="0",tp_rank="0"} 0.0
`, "running 1 waiting NaN cache 0 ",
		},
		"SGLang behind its router": {
			"sglang", `# HELP sglang_num_running_reqs The number of running requests.
# TYPE sglang_num_running_reqs gauge
sglang_num_running_reqs{model_name="Qwen3-32B",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"} 3.0
# TYPE sglang_num_queue_reqs gauge
sglang_num_queue_reqs{model_name="Qwen3-32B",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"} 7.0
# TYPE sglang_token_usage gauge
sglang_token_usage{model_name="Qwen3-32B",engine_type="unified",tp_rank="0",pp_rank="0",dp_rank="0"} 0.94
`, "running 3 waiting 7 cache 0.94 ",
		},
		"replicas whose attention is data parallel": {
			"sglang", `sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0",priority=""} 3.0
sglang:num_running_reqs{model_name="m",tp_rank="1",pp_rank="0",dp_rank="0",priority=""} 3.0
sglang:num_running_reqs{model_name="m",tp_rank="2",pp_rank="0",dp_rank="1",priority=""} 5.0
sglang:num_running_reqs{model_name="m",tp_rank="3",pp_rank="0",dp_rank="1",priority=""} 5.0
`, "running 8 ",
		},
		"priorities beside all of them": {
			"sglang", `sglang:num_queue_reqs{model_name="m",tp_rank="0",priority=""} 3.0
sglang:num_queue_reqs{model_name="m",tp_rank="0",priority="1"} 2.0
sglang:num_queue_reqs{model_name="m",tp_rank="0",priority="5"} 1.0
# TYPE sglang:num_retracted_reqs_total counter
sglang:num_retracted_reqs_total{model_name="m",tp_rank="0"} 4.0
`, "running 0 waiting 3 cache NaN preempted 4 ",
		},
		"TGI (a codelab of GKE)": {
			"tgi", `# TYPE tgi_request_count counter
tgi_request_count 1
# TYPE tgi_batch_inference_count counter
tgi_batch_inference_count{method="decode"} 292
tgi_batch_inference_count{method="prefill"} 1
`, "running 0 waiting NaN cache NaN preempted NaN done 0 passes 293 ",
		},
		"Triton of 2022, a model on two GPUs and none that waits": {
			"triton", `# TYPE nv_inference_request_success counter
nv_inference_request_success{gpu_uuid="GPU-8674351b",model="distilgpt2_cola",version="0"} 151.000000
nv_inference_request_success{gpu_uuid="GPU-4bb61721",model="distilgpt2_cola",version="0"} 151.000000
# TYPE nv_inference_count counter
nv_inference_count{gpu_uuid="GPU-8674351b",model="distilgpt2_cola",version="0"} 151.000000
nv_inference_count{gpu_uuid="GPU-4bb61721",model="distilgpt2_cola",version="0"} 151.000000
# TYPE nv_inference_exec_count counter
nv_inference_exec_count{gpu_uuid="GPU-8674351b",model="distilgpt2_cola",version="0"} 151.000000
nv_inference_exec_count{gpu_uuid="GPU-4bb61721",model="distilgpt2_cola",version="0"} 151.000000
# TYPE nv_inference_request_duration_us counter
nv_inference_request_duration_us{gpu_uuid="GPU-8674351b",model="distilgpt2_cola",version="0"} 47574974.000000
nv_inference_request_duration_us{gpu_uuid="GPU-4bb61721",model="distilgpt2_cola",version="0"} 50371315.000000
`, "running NaN waiting NaN cache NaN preempted NaN done 302 passes 302 samples 302 seconds 97.95 ",
		},
	} {
		f, err := parse(strings.NewReader(c.page), serverOf(c.server))
		if got := say(f); err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
}

func parseFile(file string) (figures, error) {
	text, err := os.ReadFile("testdata/" + file + ".txt")
	if err != nil {
		return figures{}, err
	}
	return parse(bytes.NewReader(text), serverOf(file))
}

func serverOf(file string) *server {
	for i := range servers {
		if strings.EqualFold(servers[i].name, file) {
			return &servers[i]
		}
	}
	return nil
}

func TestACommandLineTellsServerAndPort(t *testing.T) {
	for line, want := range map[string]string{
		"/env/bin/python3 /env/bin/vllm serve model --port 9000": "vLLM 9000",
		"vllm serve model --port=9001":                           "vLLM 9001",
		"vllm bench serve":                                       "none",
		"python -m vllm.entrypoints.openai.api_server":           "vLLM 8000",
		"python3 -u -m sglang.launch_server --port 31000":        "SGLang 31000",
		"text-generation-router --port 80 --max-concurrent 9":    "TGI 80",
		"/opt/tritonserver/bin/tritonserver --http-port 8000":    "Triton 8002",
		"tritonserver --metrics-port=9002":                       "Triton 9002",
		"vllm serve model --port 99999999":                       "vLLM 8000",
		"python train.py --backend vllm serve":                   "none",
		"vim tritonserver.conf":                                  "none",
		"":                                                       "none",
	} {
		got := "none"
		if s, port := recognise(strings.Fields(line)); s != nil {
			got = fmt.Sprintf("%s %d", s.name, port)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestOnlyLoopbackIsAsked(t *testing.T) {
	for at, want := range map[string]string{
		"0.0.0.0": "127.0.0.1", "127.0.0.1": "127.0.0.1", "127.8.8.8": "127.8.8.8", "::": "::1", "::1": "::1", "10.1.2.3": "", "2001:db8::1": "",
	} {
		got, ok := onLoopback(net.ParseIP(at))
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// book keeps the newest value of each signal.
type book map[string]float64

func (b book) AddSample(signal recording.Signal, subject string, _, v float64) {
	b[string(signal)+" "+subject] = v
}

func TestAServerAmongTheProcessesIsRead(t *testing.T) {
	leash.Hold(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	tcp, isTCP := listener.(*net.TCPListener)
	if !isTCP {
		t.Fatal("no TCP")
	}
	file, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	port := tcp.Addr().(*net.TCPAddr).Port
	page, _ := filepath.Abs("testdata/triton.txt")
	command := &exec.Cmd{
		Path: os.Args[0], Args: []string{"tritonserver", "--metrics-port", strconv.Itoa(port)},
		Env: append(os.Environ(), "STOKER_TEST_PAGE="+page), ExtraFiles: []*os.File{file}, Stderr: os.Stderr,
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	w := newWatch(func() float64 { return 7 }, "/proc")
	w.Follow([]int{os.Getpid(), command.Process.Pid})
	got := book{}
	leash.Wait(t, "the page", func() bool { w.readAll(context.Background()); w.Write(got); return len(got) > 0 })
	subject := fmt.Sprintf(" metrics/%d", port)
	if got["requests.done"+subject] != 201 || got["engine.samples"+subject] != 400 {
		t.Errorf("got %v", got)
	}
	if name, why := w.Server(); name != "Triton" || why != "" {
		t.Errorf("server %q, why %q", name, why)
	}
	w.Follow([]int{os.Getpid()}) // this process listens there as well, but is no server by its command line
	if w.readAll(context.Background()); len(w.targets) != 0 {
		t.Errorf("it still reads %v", w.targets)
	}
}

func TestABadPageIsRefusedInASentence(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	plain := "text/plain; version=0.0.4"
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", plain)
		for line := []byte("tgi_queue_size 1\n"); r.Context().Err() == nil; {
			if _, err := w.Write(bytes.Repeat(line, 1000)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"HTML":         {text("text/html", "<html>"), "its page is no text"},
		"HTML as text": {text(plain, "<html>\n<body>\n"), "no metrics of TGI"},
		"gzip": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			text(plain, "x")(w, r)
		}, "compresses"},
		"error":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "404"},
		"redirect":       {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }, "302"},
		"endless":        {endless, "more than 4096 series"},
		"endless line":   {text(plain, "tgi_queue_size{a=\""+strings.Repeat("x", 2<<20)), "token too long"},
		"endless others": {text(plain, strings.Repeat("# nothing\n", 500_000)), "longer than 4 MiB"},
		"no number":      {text(plain, "tgi_queue_size many\n"), "parse metrics"},
		"cut":            {text(plain, "tgi_queue_size{a=\"\n"), "parse metrics"},
		"twice":          {text(plain, "# TYPE tgi_queue_size gauge\n# TYPE tgi_queue_size counter\ntgi_queue_size 1\n"), "parse metrics"},
	} {
		s := httptest.NewServer(c.handler)
		_, err := read(t.Context(), target{server: serverOf("tgi"), address: s.Listener.Addr().String()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		s.CloseClientConnections()
		s.Close()
	}
}

// A server that never answers costs no more than the time limit.
func TestASlowPageIsGivenUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	if _, err := read(t.Context(), target{server: serverOf("tgi"), address: s.Listener.Addr().String()}); err == nil ||
		!strings.Contains(err.Error(), "deadline") {
		t.Error(err)
	}
}

func TestValuesThatCannotBeAreLeftOut(t *testing.T) {
	page := "tgi_queue_size NaN\ntgi_batch_current_size -3\ntgi_request_success +Inf\ntgi_request_failure{err=\"a\"} 2\n"
	f, err := parse(strings.NewReader(page), serverOf("tgi"))
	if got := say(f); err != nil || !strings.HasPrefix(got, "running 0 waiting NaN cache NaN preempted NaN done 2 ") {
		t.Error(got, err)
	}
}

// What a server's pages say over time: requests, the time without any, and how many there are at a time.
func TestPagesBecomeTotals(t *testing.T) {
	nan := math.NaN()
	page := func(running, waiting, done, seconds float64) figures {
		return figures{running: running, waiting: waiting, done: done, seconds: seconds, cache: nan, preempted: nan, passes: nan, samples: nan}
	}
	for name, c := range map[string]struct {
		pages []figures
		want  string
	}{
		"gauges":             {[]figures{page(0, 0, 10, 5), page(2, 4, 12, 9), page(0, 0, 20, 30)}, "came 20 none 2 flight 12"},
		"sums of times":      {[]figures{page(nan, nan, 10, 5), page(nan, nan, 11, 5.5), page(nan, nan, 20, 12)}, "came 20 none 1.5 flight 7"},
		"it started again":   {[]figures{page(0, 0, 10, 5), page(2, 0, 1, 1), page(2, 0, 5, 3)}, "came 10 none 0 flight 4"},
		"nothing tells time": {[]figures{page(nan, nan, 10, nan), page(nan, nan, 20, nan)}, "came 20 none 0 flight 0"},
	} {
		s := totals{subject: "metrics/1"}
		for i, f := range c.pages {
			s.addPage(f, 100+2*float64(i), book{})
		}
		if got := fmt.Sprintf("came %g none %g flight %g", s.came, s.none, s.inFlight); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// sound fails a test that writes what is no amount.
type sound struct {
	t    *testing.T
	page string
}

func (s sound) AddSample(signal recording.Signal, subject string, _, v float64) {
	if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		s.t.Errorf("%s: %s of %s is %g", s.page, signal, subject, v)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"vllm", "sglang", "tgi", "triton"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for i := range servers {
			got, err := parse(bytes.NewReader(text), &servers[i])
			if err != nil {
				continue
			}
			last := figures{running: math.NaN(), waiting: math.NaN(), done: 1, seconds: 0.5}
			s := totals{subject: "metrics/1", at: 100, last: last}
			for n := range 3 {
				s.addPage(got, 102+float64(n), sound{t, servers[i].name})
			}
		}
	})
}
