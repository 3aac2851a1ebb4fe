package step

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-dev/stoker/internal/safe"
)

// Bounds on what one packet may hold. The hook stays below half of each.
const (
	maxPacket  = 64 << 10 // bytes
	maxRecords = 2048     // per packet
	maxText    = 256      // characters of one text
	maxNames   = 40       // of a list of names
	maxSlow    = 8        // slow fetches of one process
	maxItems   = 128      // samples of one of them
)

// Packet is one packet, with the sender's PID as the kernel gives it. Data is valid until the
// function that got the packet returns.
type Packet struct {
	PID  int
	Data []byte
}

// message is one packet, decoded and made harmless.
type message struct {
	PID       int // as its sender sees itself
	Seq       int64
	Dropped   int64 // records that the hook lost since the packet before
	Records   []hookRecord
	Malformed int // records that were left out
}

// hookRecord is one record of the hook, all kinds in one: K says which fields count. A pointer
// is nil if the hook sent null or nothing.
type hookRecord struct {
	K string `json:"k"`

	// hello
	Role        string `json:"role"`
	Worker      *int   `json:"worker"` // also in fetch
	PPID        int    `json:"ppid"`
	Python      string `json:"python"`
	Torch       string `json:"torch"`
	CUDA        string `json:"cuda"`
	TorchVision string `json:"torchvision"`
	Framework   string `json:"framework"` // also in optim
	Rank        *int   `json:"rank"`
	LocalRank   *int   `json:"local_rank"`
	World       *int   `json:"world"`
	StartMethod string `json:"start_method"` // also in loader
	TID         int    `json:"tid"`          // also in step and optim
	ImportFile  string `json:"import_file"`
	Blocking    bool   `json:"blocking"`
	ImportLine  int    `json:"import_line"`

	// loader; loader and t are in most kinds
	Loader            int      `json:"loader"`
	T                 int64    `json:"t"`
	Kind              string   `json:"kind"` // "stoker", "" for PyTorch's
	NumWorkers        *int     `json:"num_workers"`
	PrefetchFactor    *int     `json:"prefetch_factor"`
	PinMemory         *bool    `json:"pin_memory"`
	PersistentWorkers *bool    `json:"persistent_workers"`
	InOrder           *bool    `json:"in_order"`
	BatchSize         *int     `json:"batch_size"`
	Dataset           string   `json:"dataset"`
	Reader            string   `json:"reader"`
	Transforms        []string `json:"transforms"`
	Own               []string `json:"own"`
	Anew              bool     `json:"anew"`
	Length            *int     `json:"length"`
	Iterable          bool     `json:"iterable"`
	DropLast          *bool    `json:"drop_last"`
	Split             string   `json:"split"`
	Shards            *int     `json:"shards"`
	Generators        []string `json:"generators"`
	File              string   `json:"file"`
	Line              int      `json:"line"`
	Function          string   `json:"function"`
	CallFile          string   `json:"call_file"`
	CallLine          int      `json:"call_line"`
	OnDevice          *bool    `json:"normalize_on_device"`

	// step and clock
	N     int    `json:"n"`
	W     int64  `json:"w"`
	P     int64  `json:"p"`
	First bool   `json:"first"`
	Grad  *bool  `json:"grad"`
	B     *int   `json:"b"`
	Iter  int    `json:"iter"`
	O     *int64 `json:"o"`
	Saved bool   `json:"saved"`
	Ran   *int64 `json:"ran"`
	I     int64  `json:"i"`
	X     string `json:"x"`
	Src   string `json:"src"`
	Dev   *int   `json:"dev"` // also in memory

	// inside
	Clock     string   `json:"clock"`
	Span      int64    `json:"span"`
	Input     int64    `json:"input"`
	Copy      int64    `json:"copy"`
	Forward   int64    `json:"forward"`
	Backward  int64    `json:"backward"`
	Optimizer int64    `json:"optimizer"`
	Exchange  int64    `json:"exchange"`
	Launches  *float64 `json:"launches"`
	Launching *float64 `json:"launching"`
	Copies    *float64 `json:"copies"`
	Pageable  *float64 `json:"pageable"`
	Syncs     *float64 `json:"syncs"`
	Waited    *float64 `json:"waited"`
	At        string   `json:"at"`

	// batch; bytes also in inside
	Bytes   *float64 `json:"bytes"`
	Samples *int64   `json:"samples"` // also in fetch and feed
	DType   string   `json:"dtype"`   // also in optim
	Pinned  *bool    `json:"pinned"`
	Ended   *int     `json:"ended"`
	Tensors *int     `json:"tensors"`
	Objects *int     `json:"objects"`
	Padded  []int64  `json:"padded"`

	// fetch
	Count   int64    `json:"count"` // also in feed
	Wall    int64    `json:"wall"`
	CPU     int64    `json:"cpu"`
	Collate int64    `json:"collate"`
	Wall2   float64  `json:"wall2"`
	Looked  int64    `json:"looked"`
	Drew    []string `json:"drew"`

	// slow
	Fetches []slowFetch `json:"fetches"`

	// threads
	Pools map[string]int `json:"pools"`

	// feed
	Read      int64 `json:"read"`
	Decode    int64 `json:"decode"`
	Transform int64 `json:"transform"`

	// remote; count, cpu and bytes as above
	Node    string   `json:"node"`
	Workers int      `json:"workers"`
	Ahead   int      `json:"ahead"`
	Fetch   int64    `json:"fetch"`
	Moved   int64    `json:"moved"`
	Store   *float64 `json:"store"`
	Spilled *float64 `json:"spilled"`

	// serve and request
	Arrived  int64 `json:"arrived"`
	Answered int64 `json:"answered"`
	Unasked  int64 `json:"unasked"`
	Pieces   int64 `json:"pieces"`
	Flight   int64 `json:"flight"`
	Active   int64 `json:"active"`
	F        int64 `json:"f"`

	// await
	Who    string      `json:"who"`
	Frames []hookPlace `json:"frames"`
	For    int64       `json:"for"`

	// engine
	Server    string  `json:"server"`
	Running   int64   `json:"running"`
	Waiting   int64   `json:"waiting"`
	Usage     float64 `json:"usage"`
	Preempted int64   `json:"preempted"`
	D         int64   `json:"d"`

	// raised
	Type  string `json:"type"`
	About string `json:"about"`

	// memory, precision, optim, warn
	Allocated *float64 `json:"allocated"`
	Reserved  *float64 `json:"reserved"`
	Asked     *float64 `json:"asked"`
	Matmul    string   `json:"matmul"`
	Benchmark *bool    `json:"cudnn_benchmark"`
	Autocast  *bool    `json:"autocast"`
	Device    string   `json:"device"`
	Steps     int      `json:"steps"`
	Text      string   `json:"text"`
}

// slowFetch is [ns, [indices of its samples]].
type slowFetch struct {
	Wall  int64
	Items []int64
}

// UnmarshalJSON reads the two of a list.
func (f *slowFetch) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&f.Wall, &f.Items})
}

// hookPlace is [file, line, function].
type hookPlace struct {
	File     string
	Line     int
	Function string
}

// UnmarshalJSON reads the three of a list.
func (p *hookPlace) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.File, &p.Line, &p.Function})
}

// packet is the wire form; records are decoded one by one only where some do not
// fit, so that one bad record does not take its neighbours along.
type packet struct {
	V       int          `json:"v"`
	PID     int          `json:"pid"`
	Seq     int64        `json:"seq"`
	Dropped int64        `json:"dropped"`
	Records []hookRecord `json:"records"`
}

// decode reads one packet.
func decode(data []byte) (message, error) {
	if len(data) > maxPacket {
		return message{}, fmt.Errorf("decode packet: it has %d bytes, at most %d are taken", len(data), maxPacket)
	}
	var p packet
	m := message{}
	if err := json.Unmarshal(data, &p); err != nil {
		var one error
		if p, m.Malformed, one = separately(data); one != nil {
			return message{}, fmt.Errorf("decode packet: %w", err)
		}
	}
	if p.V != 1 {
		return message{}, fmt.Errorf("decode packet: its version is %d, expected 1", p.V)
	}
	if p.PID <= 0 || p.Dropped < 0 {
		return message{}, errors.New("decode packet: pid or dropped is not positive")
	}
	if extra := len(p.Records) - maxRecords; extra > 0 {
		p.Records, m.Malformed = p.Records[:maxRecords], m.Malformed+extra
	}
	m.PID, m.Seq, m.Dropped, m.Records = p.PID, p.Seq, p.Dropped, p.Records
	for i := range m.Records {
		m.Records[i].clean()
	}
	return m, nil
}

func separately(data []byte) (p packet, bad int, err error) {
	var raw struct {
		packet
		Records []json.RawMessage `json:"records"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return packet{}, 0, err
	}
	p = raw.packet
	p.Records = nil
	for _, text := range raw.Records {
		var r hookRecord
		if json.Unmarshal(text, &r) != nil {
			bad++
			continue
		}
		p.Records = append(p.Records, r)
	}
	return p, bad, nil
}

func (r *hookRecord) clean() {
	for _, text := range []*string{
		&r.K, &r.Role, &r.Kind, &r.Python, &r.Torch, &r.CUDA, &r.TorchVision, &r.StartMethod, &r.Dataset, &r.Reader,
		&r.File, &r.CallFile, &r.Split, &r.X, &r.Src, &r.DType, &r.Matmul, &r.Device, &r.Text, &r.Clock,
		&r.Type, &r.About, &r.Framework, &r.At, &r.Node, &r.Function,
	} {
		*text = safe.Text(*text, maxText)
	}
	r.Fetches = r.Fetches[:min(len(r.Fetches), maxSlow)]
	for i := range r.Fetches {
		items := &r.Fetches[i].Items
		*items = (*items)[:min(len(*items), maxItems)]
	}
	for i := range r.Frames {
		f := &r.Frames[i]
		f.File, f.Function = safe.Text(f.File, maxText), safe.Text(f.Function, maxText)
	}
	for _, list := range []*[]string{&r.Transforms, &r.Own, &r.Drew, &r.Generators} {
		*list = (*list)[:min(len(*list), maxNames)]
		for i, name := range *list {
			(*list)[i] = safe.Text(name, maxText)
		}
	}
}
