//go:build linux

package step

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// book keeps what an Intake writes.
type book struct {
	steps   []recording.Step
	clocks  []recording.DeviceClock
	samples map[string]float64
	insides []string // PID/loader/n
	inside  recording.Inside
}

func (b *book) AddStep(s recording.Step)         { b.steps = append(b.steps, s) }
func (b *book) AddClock(c recording.DeviceClock) { b.clocks = append(b.clocks, c) }
func (b *book) AddInside(pid, loader, n int, i recording.Inside) {
	b.insides = append(b.insides, fmt.Sprintf("%d/%d/%d", pid, loader, n))
	b.inside = i
}

func (b *book) AddSample(signal recording.Signal, subject string, _, v float64) {
	if b.samples == nil {
		b.samples = map[string]float64{}
	}
	b.samples[string(signal)+" "+subject] = v
}

func packetOf(records ...string) Packet {
	return Packet{PID: 7, Data: []byte(`{"v":1,"pid":7,"seq":0,"dropped":0,"records":[` + strings.Join(records, ",") + `]}`)}
}

// The page that both sides are written by names every word that is decoded.
func TestProtocolNamesWhatIsDecoded(t *testing.T) {
	page, err := os.ReadFile("../../python/hook/protocol.txt")
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[hookRecord]()
	for i := range fields.NumField() {
		word := fields.Field(i).Tag.Get("json")
		if !regexp.MustCompile(`\b` + word + `\b`).Match(page) {
			t.Errorf("protocol.txt does not name %q", word)
		}
	}
}

func TestOneBadRecordLeavesItsNeighbours(t *testing.T) {
	m, err := decode(packetOf(`{"k":"warn","text":"a"}`, `{"k":"step","n":"x"}`, `{"k":"step","t":1e99}`, `{"k":"warn","text":"b"}`).Data)
	if err != nil || len(m.Records) != 2 || m.Malformed != 2 || m.Records[1].Text != "b" {
		t.Errorf("%+v, %v", m, err)
	}
}

// Errors that the hook passes on quote what somebody wanted to open.
func TestNotesQuoteNoSecret(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`, `{"k":"warn","text":"wandb: 401 for https://bob:hunter2@host/api?token=hunter2, login_token=hunter2"}`), 1)
	if notes := strings.Join(in.Notes(), "\n"); strings.Contains(notes, "hunter2") || !strings.Contains(notes, "wandb: 401 for https://") {
		t.Errorf("%q", notes)
	}
}

func TestPacketsThatAreRefused(t *testing.T) {
	for _, data := range []string{
		"", "null", "[]", `{"v":2,"pid":1}`, `{"v":1,"pid":0}`, `{"v":1,"pid":-4}`, `{"v":1,"pid":1,"dropped":-1}`,
		`{"v":1,"pid":1,"records":[]}` + strings.Repeat(" ", maxPacket), strings.Repeat("[", 60000),
	} {
		if _, err := decode([]byte(data)); err == nil {
			t.Errorf("%.40q was taken", data)
		}
	}
}

// A job of weeks starts workers with every epoch, and trainings one after the other:
// what is known of those that ended is not kept, and the newest loaders are.
func TestProcessesThatEnded(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	for pid := 10; pid < 2000; pid++ {
		p := packetOf(`{"k":"hello","role":"main"}`, `{"k":"loader","loader":1}`, `{"k":"step","loader":1,"n":3,"t":5,"p":9,"w":1}`, `{"k":"clock","loader":1,"n":3,"x":"no device"}`)
		p.PID = pid
		in.Take(p, 1)
		if pid%10 > 0 { // some go on
			in.Forget(pid)
		}
	}
	if n := len(in.Processes()); n != 199 || len(in.last) != n || len(in.unclock) != n {
		t.Errorf("%d processes, %d loaders' last steps, %d without a clock are kept", n, len(in.last), len(in.unclock))
	}
	var f recording.Facts
	if in.Facts(&f); len(f.Loaders) != maxLoaders || f.Loaders[maxLoaders-1].PID != 1999 {
		t.Errorf("%d loaders, the last of process %d", len(f.Loaders), f.Loaders[len(f.Loaders)-1].PID)
	}
	if !in.Heard() {
		t.Error("it was heard")
	}
}

// What computes is the program's framework, whatever else it imports.
func TestFrameworkIsWhatComputes(t *testing.T) {
	for want, records := range map[string][]string{
		"JAX":        {`{"k":"hello","role":"main","torch":"2.9","framework":null}`, `{"k":"optim","device":"cpu","dtype":null,"steps":0,"framework":"JAX"}`},
		"TensorFlow": {`{"k":"hello","role":"main","torch":null,"framework":"TensorFlow"}`},
		"":           {`{"k":"hello","role":"main","torch":"2.9","framework":null}`, `{"k":"optim","device":"cuda:0","dtype":"float32","steps":3}`},
	} {
		in := NewIntake(0, &book{}, nil)
		in.Take(packetOf(records...), 1)
		var f recording.Facts
		if in.Facts(&f); f.Software.Framework != want {
			t.Errorf("%q, want %q", f.Software.Framework, want)
		}
	}
}

func TestTimesThatCannotBe(t *testing.T) {
	var b book
	in := NewIntake(1e9, &b, nil)
	in.Take(packetOf(
		`{"k":"step","n":0,"t":2000000000,"w":1000000,"p":0,"grad":true,"tid":7,"b":null}`,
		`{"k":"step","n":1,"t":9000000000000,"w":1,"p":1}`,
		`{"k":"step","n":2,"t":2000000000,"w":-1,"p":1}`,
		`{"k":"step","n":-3,"t":2000000000,"w":1,"p":1}`,
		`{"k":"clock","n":0,"i":-5,"p":1}`,
		`{"k":"hello","role":"boss"}`,
		`{"k":"fetch","count":-1}`,
		`{"k":"memory","dev":null}`,
	), 5)
	if len(b.steps) != 1 || b.steps[0].Start != 1 || !math.IsNaN(b.steps[0].Period) || in.Dropped() != 7 {
		t.Errorf("%+v, %d dropped", b.steps, in.Dropped())
	}
	if b.samples["hook.dropped hook"] != 7 {
		t.Errorf("samples %v", b.samples)
	}
}

// What was inside of a step has parts that fit into it; what does not is left out.
func TestInsideOfAStep(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	in.Take(packetOf(
		`{"k":"inside","loader":2,"n":5,"clock":"cuda","span":1000000,"input":200000,"copy":0,"forward":300000,"backward":400000,"optimizer":0,"exchange":0,"syncs":3,"waited":1000,"launches":null}`,
		`{"k":"inside","loader":0,"n":6,"clock":"cuda","span":1000000,"input":-1}`,
		`{"k":"inside","loader":0,"n":7,"clock":"cuda","span":1000,"input":2000}`,
		`{"k":"inside","loader":0,"n":8,"clock":"cuda","span":0}`,
		`{"k":"inside","loader":-2,"n":8,"clock":"cuda","span":5}`,
		`{"k":"inside","loader":0,"n":9,"clock":"host","span":5,"syncs":-1}`,
	), 1)
	if fmt.Sprint(b.insides) != "[7/2/5]" || in.Dropped() != 5 {
		t.Errorf("insides of %v, %d dropped", b.insides, in.Dropped())
	}
	if i := b.inside; i.Clock != "cuda" || i.Span != 1e-3 || *i.Syncs != 3 || *i.SyncTime != 1e-6 || i.Launches != nil || math.Abs(i.Rest()-1e-4) > 1e-12 {
		t.Errorf("%+v, rest %v", i, i.Rest())
	}
}

// A loop without a loader has steps; how long it waited is not known, and what it saves is a phase of its own.
func TestStepsOfTheLoopItself(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	in.Take(packetOf(
		`{"k":"step","loader":-1,"iter":0,"n":0,"t":1,"w":0,"p":1000,"grad":true,"tid":7,"b":null,"o":1}`,
		`{"k":"step","loader":-1,"iter":0,"n":1,"t":2,"w":0,"p":1000,"grad":false,"saved":true,"tid":7,"b":null,"o":0}`,
		`{"k":"step","loader":-2,"iter":0,"n":1,"t":2,"w":0,"p":1000}`,
	), 1)
	if len(b.steps) != 2 || !math.IsNaN(b.steps[0].Wait) || b.steps[0].Period != 1e-6 || b.steps[1].Phase != recording.Checkpoint {
		t.Errorf("%+v", b.steps)
	}
	if p := in.Processes()[0]; p.Loads {
		t.Errorf("a loop without a loader loads: %+v", p)
	}
}

// A reason for a missing clock holds from its step on, until a clock comes.
func TestMissingClock(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	step := func(n int) string { return fmt.Sprintf(`{"k":"step","n":%d,"t":1,"w":1,"p":1}`, n) }
	in.Take(packetOf(step(0), step(1), step(2), `{"k":"clock","n":1,"x":"side-stream"}`, step(3)), 1)
	in.Take(packetOf(`{"k":"clock","n":1,"x":"side-stream"}`, step(4), `{"k":"clock","n":5,"i":3,"p":9,"dev":0}`, step(5)), 1)
	if len(b.clocks) != 3 || b.clocks[0].N != 1 || b.clocks[1].N != 2 || b.clocks[0].NoClock != "side-stream" {
		t.Errorf("clocks %+v", b.clocks)
	}
	if b.steps[3].NoClock != "side-stream" || b.steps[4].NoClock != "side-stream" || b.steps[5].NoClock != "" || b.steps[0].NoClock != "" {
		t.Errorf("steps %+v", b.steps)
	}
	if c := b.clocks[2]; c.Idle != 3e-9 || c.Period != 9e-9 {
		t.Errorf("clock %+v", c)
	}
}

func TestVisibleDevices(t *testing.T) {
	var b book
	in := NewIntake(0, &b, func(_, cuda int) int { return cuda + 4 })
	in.Take(packetOf(`{"k":"clock","n":0,"i":1,"p":1,"src":"cuda","dev":1}`, `{"k":"memory","dev":1,"allocated":3}`), 1)
	if b.clocks[0].Device != 5 || b.samples["device.allocated gpu/5"] != 3 {
		t.Errorf("%+v %v", b.clocks, b.samples)
	}
	in.Take(packetOf(`{"k":"clock","n":1,"i":1,"p":1,"src":"emulated","dev":1}`), 1)
	if b.clocks[1].Device != 1 {
		t.Error("an emulated device was translated")
	}
}

func TestListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	var ends []*net.UnixConn
	for i := range 50 {
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, c)
		if _, err := fmt.Fprintf(c, "packet %d", i); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	hear := func(p Packet) {
		if got++; p.PID != os.Getpid() || !strings.HasPrefix(string(p.Data), "packet ") {
			t.Errorf("%+v", p)
		}
	}
	for range 3 {
		l.Poll(hear)
	}
	if got != 50 {
		t.Errorf("%d packets arrived of 50", got)
	}
	for i, c := range ends { // what was sent before a process ended is heard
		_, _ = fmt.Fprintf(c, "packet last %d", i)
		_ = c.Close()
	}
	l.Poll(hear)
	if got != 100 || len(l.pids) != 0 {
		t.Errorf("%d packets arrived of 100, %d connections are open", got, len(l.pids))
	}
	if n := l.Poll(hear); n != 0 {
		t.Errorf("%d packets out of nowhere", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"}); err == nil {
		t.Error("the socket is still there")
	}
}

// taken counts inputs that were decoded: a fuzz run that only meets the front
// door is worth nothing.
var taken atomic.Int64

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"pid":1,"seq":0,"dropped":0,"records":[{"k":"hello","role":"main","tid":1}]}`))
	f.Add([]byte(`{"v":1,"pid":1,"records":[{"k":"step","loader":0,"n":1,"t":5,"w":1,"p":2,"grad":true,"tid":1,"b":4},{"k":"clock","n":1,"x":"why"}]}`))
	f.Add([]byte(`{"v":1,"pid":1,"records":[{"k":"loader","num_workers":2},{"k":"batch","bytes":1},{"k":"optim","device":"cpu"},{"k":"precision","matmul":"high"}]}`))
	f.Add([]byte(`{"v":1,"pid":1,"records":[{"k":"fetch","count":1,"wall":1},{"k":"memory","dev":0,"allocated":1},{"k":3}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b book
		in := NewIntake(0, &b, nil)
		in.Take(Packet{PID: 1, Data: data}, 10)
		in.Take(Packet{PID: 1, Data: data}, 11)
		in.Flush(1)
		if in.Heard() {
			taken.Add(1)
		}
		var facts recording.Facts
		in.Facts(&facts)
		facts.Notes = in.Notes()
		if _, err := json.Marshal(facts); err != nil {
			t.Fatal("facts cannot be written: ", err)
		}
		for _, s := range b.steps {
			if s.Wait < 0 || math.IsNaN(s.Wait) || s.Period < 0 || s.Start > 20 {
				t.Fatalf("a step that cannot be: %+v", s)
			}
		}
	})
	if flag.Lookup("test.fuzz").Value.String() == "" && taken.Load() == 0 {
		f.Error("no input was decoded")
	}
}

// TestStokersLoader: the hook says of stoker.DataLoader what kind it is, and hands on
// what stoker feed counts.
func TestStokersLoader(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	in.Take(packetOf(
		`{"k":"loader","loader":0,"t":1,"kind":"stoker","num_workers":3,"batch_size":8,"normalize_on_device":false,"dataset":"ImageFolder"}`,
		`{"k":"loader","loader":1,"t":1,"num_workers":0}`,
		`{"k":"feed","count":4,"samples":32,"read":1000000000,"decode":2000000000,"transform":500000000}`,
		`{"k":"feed","count":-4,"samples":32,"read":1,"decode":2,"transform":5}`,
	), 1)
	in.Flush(1)
	var f recording.Facts
	in.Facts(&f)
	if s := f.Loaders[0].Settings; s["loader"] != "stoker" || s["num_workers"] != 3 || s["normalize_on_device"] != false {
		t.Errorf("settings %v", s)
	}
	if _, known := f.Loaders[1].Settings["loader"]; known {
		t.Errorf("PyTorch's loader is taken for another: %v", f.Loaders[1].Settings)
	}
	want := map[string]float64{"feed.batches": 4, "feed.samples": 32, "feed.read": 1, "feed.decode": 2, "feed.transform": 0.5, "hook.dropped": 1}
	for signal, value := range want {
		subject := "process/7"
		if signal == "hook.dropped" {
			subject = "hook"
		}
		if got := b.samples[signal+" "+subject]; got != value {
			t.Errorf("%s is %v, want %v", signal, got, value)
		}
	}
}

// TestWorkersInACluster: the newest sums of each node are written, and what makes no sense is left out.
func TestWorkersInACluster(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	in.Take(packetOf(
		`{"k":"remote","node":"a","workers":2,"ahead":3,"count":4,"fetch":1000000000,"cpu":500000000,"moved":250000000,"bytes":8,"store":100,"spilled":null}`,
		`{"k":"remote","node":"a","workers":2,"ahead":3,"count":5,"fetch":2000000000,"cpu":500000000,"moved":250000000,"bytes":10,"store":100,"spilled":null}`,
		`{"k":"remote","node":"b","workers":1,"ahead":3,"count":1,"fetch":1,"cpu":1,"moved":-1,"bytes":2}`,
		`{"k":"remote","node":"","workers":1,"ahead":3,"count":1,"fetch":1,"cpu":1,"moved":1,"bytes":2}`,
	), 1)
	in.Flush(1)
	want := map[string]float64{
		"remote.workers": 2, "remote.ahead": 3, "remote.batches": 5, "remote.fetch": 2, "remote.cpu": 0.5, "remote.moved": 0.25,
		"remote.bytes": 10, "remote.store": 100,
	}
	for signal, value := range want {
		if got := b.samples[signal+" node/7/a"]; got != value {
			t.Errorf("%s is %v, want %v", signal, got, value)
		}
	}
	for subject := range b.samples {
		if strings.HasSuffix(subject, "node/7/b") || strings.HasPrefix(subject, "remote.spilled") {
			t.Errorf("%s is written", subject)
		}
	}
}

// Workers say how many threads their libraries compute with: the most of any is kept. A trainer's are no worker's.
func TestThreadsOfLibraries(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`, `{"k":"threads","pools":{"torch":64}}`), 1)
	for _, pools := range []string{`{"torch":1,"opencv":8}`, `{"torch":16,"opencv":8}`, `{"torch":-1}`, `{"torch":99999}`, `{"others":3}`} {
		in.Take(Packet{PID: 8, Data: []byte(`{"v":1,"pid":8,"seq":0,"dropped":0,"records":[{"k":"hello","role":"worker","ppid":7},{"k":"threads","pools":` + pools + `}]}`)}, 1)
	}
	var f recording.Facts
	in.Facts(&f)
	if got := fmt.Sprint(f.WorkerThreads); got != "map[opencv:8 torch:16]" {
		t.Error(got)
	}
}

// Each process tells its slowest fetches anew; those of all workers are kept, by who asks for their batches.
func TestSlowFetches(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	worker := func(records string) Packet {
		return Packet{PID: 8, Data: []byte(`{"v":1,"pid":8,"seq":0,"dropped":0,"records":[{"k":"hello","role":"worker","ppid":7},` + records + `]}`)}
	}
	in.Take(packetOf(`{"k":"hello","role":"main"}`, `{"k":"slow","fetches":[[1000000000,[5,6]]]}`), 1)
	in.Take(worker(`{"k":"slow","fetches":[[2000000000,[1,312]]]}`), 1)
	in.Take(worker(`{"k":"slow","fetches":[[4000000000,[312]],[2000000000,[1,312]],[-1,[3]]]}`), 2)
	var f recording.Facts
	in.Facts(&f)
	got := fmt.Sprint(f.Slow)
	if want := "[{7 8 4 [312]} {7 8 2 [1 312]} {7 7 1 [5 6]}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The padding of batches is summed; counts that cannot be are left out. A device on which a data set made one is kept.
func TestPaddingOfBatches(t *testing.T) {
	in := NewIntake(0, &book{}, nil)
	in.Take(packetOf(`{"k":"hello","role":"main"}`, `{"k":"loader","num_workers":2}`,
		`{"k":"batch","bytes":8,"padded":[100,60,40],"device":"cuda"}`, `{"k":"batch","bytes":8,"padded":[100,20,0]}`, `{"k":"batch","bytes":8,"padded":null}`,
		`{"k":"batch","bytes":8,"padded":[100,120,0]}`, `{"k":"batch","bytes":8,"padded":[100,20,30]}`, `{"k":"batch","bytes":8,"padded":[100,20,-1]}`,
		`{"k":"batch","bytes":8,"padded":[1]}`), 1)
	var f recording.Facts
	in.Facts(&f)
	want := recording.Padding{Numbers: 200, Padded: 80, Beyond: 40}
	if got := f.Loaders[0]; got.Padding != want || got.BatchDevice != "cuda" {
		t.Errorf("%+v", got)
	}
}

// A loop that asks for its batches in a thread of its own says which thread launches instead.
func TestAnotherThreadLaunches(t *testing.T) {
	var b book
	in := NewIntake(0, &b, nil)
	in.Take(packetOf(`{"k":"hello","role":"main","tid":7}`, `{"k":"loader","loader":1}`,
		`{"k":"step","loader":1,"n":3,"t":5,"p":9,"w":1,"tid":12,"grad":true}`), 1)
	if p := in.FindProcess(7); p.LaunchThread != 12 || p.Launches {
		t.Errorf("before it is known: %+v", p)
	}
	in.Take(packetOf(`{"k":"clock","loader":1,"n":3,"x":"asked by another thread than the one that launches","tid":7}`,
		`{"k":"step","loader":1,"n":4,"t":15,"p":9,"w":1,"tid":12,"grad":true}`), 2)
	if p := in.FindProcess(7); p.LaunchThread != 7 || !p.Launches {
		t.Errorf("%+v", p)
	}
}
