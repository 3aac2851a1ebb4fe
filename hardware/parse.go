package hardware

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stoker-dev/stoker/quantity"
)

// maxFile is the greatest size in bytes of a file of rows: room for thousands.
const maxFile = 1 << 20

// Parse reads rows written by a user, as hardware/README.md describes: a JSON object with lists
// named gpus, links, networks, storages, cpus and grids. Quantities are text with units ("312
// TFLOP/s"). Every figure needs a source: its own or that of its row. A row may start as a copy
// of a built-in row or of one above it ("like": "h100-sxm").
//
// Errors begin with name, the name of the file. They name the row and the field, and say what
// was expected and what to write instead.
func Parse(name string, data []byte) (Table, error) {
	if len(data) > maxFile {
		return Table{}, fmt.Errorf("%s: %d bytes, expected at most %d: keep only the rows that are yours", name,
			len(data), maxFile)
	}
	lists, err := readObject(data)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	t, err := tables(lists)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := t.check(); err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// tables reads all lists.
func tables(lists map[string]json.RawMessage) (t Table, err error) {
	known := []string{"gpus", "links", "networks", "storages", "cpus", "grids"}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		if !slices.Contains(known, list) {
			return Table{}, unknownError("list", list, known)
		}
	}
	var failed [6]error
	t.GPUs, failed[0] = rows(lists, "gpus", GPUs, (*row).readGPU)
	t.Links, failed[1] = rows(lists, "links", links, (*row).readLink)
	t.Networks, failed[2] = rows(lists, "networks", networks, (*row).readNetwork)
	t.Storages, failed[3] = rows(lists, "storages", storages, (*row).readStorage)
	t.CPUs, failed[4] = rows(lists, "cpus", cpus, (*row).readCPU)
	t.Grids, failed[5] = rows(lists, "grids", grids, (*row).readGrid)
	return t, cmp.Or(failed[:]...)
}

// readGPU reads a row of gpus on top of g, the row it is a copy of.
func (r *row) readGPU(g GPU) GPU {
	if g.Name != r.key { // a copy with a new name is another device and has no other names
		g.Title, g.Match = "", nil
	}
	g.Name = r.key
	g.Title = r.readText("title", r.otherwise(g.Title))
	g.Match = r.texts("match", g.Match)
	g.Link = r.readText("link", g.Link)
	r.readFigure("fp32", &g.FP32, operations)
	r.readFigure("tf32", &g.TF32, operations)
	r.readFigure("fp16", &g.FP16, operations)
	r.readFigure("fp8", &g.FP8, operations)
	r.readFigure("int8", &g.INT8, operations)
	r.readFigure("sms", &g.SMs, plain(quantity.ParseCount))
	r.readFigure("memory", &g.MemoryBytes, plain(quantity.ParseBytes))
	r.readFigure("memory_rate", &g.MemoryRate, plain(quantity.ParseRate))
	r.readFigure("nvlink", &g.NVLink, plain(quantity.ParseRate))
	r.readFigure("power", &g.PowerLimit, plain(quantity.ParseWatts))
	r.readFigure("idle_power", &g.IdlePower, plain(quantity.ParseWatts))
	r.readFigure("price", &g.Price, plain(quantity.ParsePrice))
	g.ComputeMajor, g.ComputeMinor = r.capability("compute", g.ComputeMajor, g.ComputeMinor)
	if g.IdlePower.Known() && g.PowerLimit.Known() && g.IdlePower.Value > g.PowerLimit.Value {
		r.fail("idle_power", fmt.Errorf("%s is more than power, %s", quantity.Watts(g.IdlePower.Value),
			quantity.Watts(g.PowerLimit.Value)))
	}
	return g
}

// readLink reads a row of links on top of l.
func (r *row) readLink(l Link) Link {
	l.Name = r.key
	r.readFigure("nominal", &l.Nominal, plain(quantity.ParseRate))
	r.readFigure("pinned", &l.Pinned, plain(quantity.ParseRate))
	r.readFigure("pageable_low", &l.Pageable[0], plain(quantity.ParseRate))
	r.readFigure("pageable_high", &l.Pageable[1], plain(quantity.ParseRate))
	steps := []Figure{l.Pageable[0], l.Pageable[1], l.Pinned, l.Nominal}
	for i, name := range []string{"pageable_high", "pinned", "nominal"} {
		if low, high := steps[i], steps[i+1]; low.Known() && high.Known() && low.Value > high.Value {
			r.fail(name, fmt.Errorf("%s is too little: expected pageable_low <= pageable_high <= pinned <= nominal",
				quantity.Rate(high.Value)))
		}
	}
	return l
}

// readNetwork reads a row of networks on top of n.
func (r *row) readNetwork(n Network) Network {
	n.Name = r.key
	n.Title = r.readText("title", r.otherwise(n.Title))
	r.readFigure("rate", &n.Rate, plain(quantity.ParseRate))
	return n
}

// readStorage reads a row of storages on top of s.
func (r *row) readStorage(s Storage) Storage {
	s.Name = r.key
	s.Title = r.readText("title", r.otherwise(s.Title))
	r.readFigure("rate", &s.Rate, plain(quantity.ParseRate))
	r.readFigure("iops", &s.IOPS, plain(quantity.ParseNumber))
	r.readFigure("latency", &s.Latency, plain(quantity.ParseSeconds))
	s.Object = r.readTruth("object", s.Object)
	return s
}

// readCPU reads a row of cpus on top of c.
func (r *row) readCPU(c CPU) CPU {
	if c.Name != r.key {
		c.Title, c.Match = "", nil
	}
	c.Name = r.key
	c.Title = r.readText("title", r.otherwise(c.Title))
	c.Match = r.texts("match", c.Match)
	c.Decode = slices.Clone(c.Decode) // the copy must not change the original row
	raw, given := r.take("decode")
	libraries, err := readObject(raw)
	if given && err != nil {
		r.fail("decode", fmt.Errorf(`%w, expected rates by library such as {"pillow": "537 images/s"}`, err))
	}
	for _, library := range slices.Sorted(maps.Keys(libraries)) {
		c.Decode = slices.DeleteFunc(c.Decode, func(d LibraryRate) bool { return d.Library == library })
		rate := Figure{}
		r.value("decode."+library, libraries[library], &rate, plain(quantity.ParseSampleRate))
		c.Decode = append(c.Decode, LibraryRate{library, rate})
	}
	return c
}

// readGrid reads a row of grids on top of g.
func (r *row) readGrid(g Grid) Grid {
	g.Name = r.key
	g.Title = r.readText("title", r.otherwise(g.Title))
	r.readFigure("carbon", &g.Carbon, plain(quantity.ParseCarbon))
	r.readFigure("price", &g.Price, perKWh)
	return g
}

// check checks what involves more than one row.
func (t Table) check() error {
	links := Known.With(t).LinkNames()
	for i, gpu := range t.GPUs {
		if gpu.Link != "" && !slices.Contains(links, gpu.Link) {
			return fmt.Errorf("gpus row %d (%s), link: %w", i+1, gpu.Name, unknownError("link", gpu.Link, links))
		}
	}
	return nil
}

// rows reads one list. "like" refers to the rows above and to known.
func rows[R named](lists map[string]json.RawMessage, list string, known []R, read func(*row, R) R) ([]R, error) {
	raw, given := lists[list]
	if !given {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, fmt.Errorf(`%s: expected a list of rows such as [{"name": …}], got %s`, list, short(raw))
	}
	var all []R
	for i, item := range items {
		r := newRow(fmt.Sprintf("%s row %d", list, i+1), item)
		if _, twice := find(all, r.key); twice && r.err == nil {
			r.fail("name", fmt.Errorf("%q is the name of a row above: give each row a different name", r.key))
		}
		var base R
		if like := r.readText("like", ""); like != "" {
			var found bool
			if base, found = find(append(slices.Clone(all), known...), like); !found {
				r.fail("like", unknownError("row", like, append(names(all), names(known)...)))
			}
		}
		all = append(all, read(r, base))
		if err := r.firstError(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// row is the state of reading one row. It keeps the first error.
type row struct {
	where  string // "gpus row 2 (b300)"
	key    string // its name
	fields map[string]json.RawMessage
	taken  []string // fields that were read
	source string
	err    error
}

// newRow reads the fields that every row has.
func newRow(where string, item json.RawMessage) *row {
	r := &row{where: where}
	fields, err := readObject(item)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", where, err)
		return r
	}
	r.fields = fields
	r.key = r.readText("name", "")
	r.source = r.readText("source", "")
	switch {
	case r.err != nil:
	case r.key == "":
		r.fail("name", fmt.Errorf("is missing, expected a short one such as h100-sxm"))
	case len(r.key) > 60 || strings.Trim(r.key, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "":
		r.fail("name", fmt.Errorf("%s: expected at most 60 small letters, digits, dots and dashes, such as h100-sxm",
			short([]byte(r.key))))
	default:
		r.where += " (" + r.key + ")"
	}
	return r
}

// take returns a field and records that it is a valid one.
func (r *row) take(name string) (json.RawMessage, bool) {
	r.taken = append(r.taken, name)
	raw, given := r.fields[name]
	return raw, given
}

// readText reads a field that is text; otherwise is returned if it is missing.
func (r *row) readText(name, otherwise string) string {
	raw, given := r.take(name)
	if !given {
		return otherwise
	}
	s := ""
	if err := json.Unmarshal(raw, &s); err != nil || strings.TrimSpace(s) == "" {
		r.fail(name, fmt.Errorf("expected text, got %s", short(raw)))
	}
	return strings.TrimSpace(s)
}

// readTruth reads a field that is true or false; otherwise is returned if it is missing.
func (r *row) readTruth(name string, otherwise bool) bool {
	raw, given := r.take(name)
	if !given {
		return otherwise
	}
	yes := otherwise
	if err := json.Unmarshal(raw, &yes); err != nil {
		r.fail(name, fmt.Errorf("expected true or false, got %s", short(raw)))
	}
	return yes
}

// texts reads a field that is a list of texts; otherwise is returned if it is missing.
func (r *row) texts(name string, otherwise []string) []string {
	raw, given := r.take(name)
	if !given {
		return otherwise
	}
	var all []string
	if err := json.Unmarshal(raw, &all); err != nil || slices.Contains(all, "") {
		r.fail(name, fmt.Errorf(`expected names such as ["NVIDIA H100 PCIe"], got %s`, short(raw)))
	}
	return all
}

// otherwise returns the title of a row that has none: that of the row it copies, or its name.
func (r *row) otherwise(title string) string {
	if title == "" {
		return r.key
	}
	return title
}

// capability reads a compute capability such as "9.0".
func (r *row) capability(name string, major, minor int) (int, int) {
	text := r.readText(name, "")
	if text == "" {
		return major, minor
	}
	before, after, _ := strings.Cut(text, ".")
	major, errMajor := strconv.Atoi(before)
	minor, errMinor := strconv.Atoi(after)
	if errMajor != nil || errMinor != nil || major < 0 || major > 99 || minor < 0 || minor > 99 {
		r.fail(name, fmt.Errorf(`%s is not a compute capability, expected one such as "9.0"`, short([]byte(text))))
		return 0, 0
	}
	return major, minor
}

// readFigure reads a field that is a quantity into f, which does not change if the field is
// missing.
func (r *row) readFigure(name string, f *Figure, parse func(string) (float64, error)) {
	if raw, given := r.take(name); given {
		r.value(name, raw, f, parse)
	}
}

// value reads a quantity: a text, or an object with a text and its source.
func (r *row) value(name string, raw json.RawMessage, f *Figure, parse func(string) (float64, error)) {
	text, source := "", r.source
	if json.Unmarshal(raw, &text) != nil {
		own, err := readObject(raw)
		part := row{where: r.where + ", " + name, fields: own}
		if err != nil {
			r.fail(name,
				fmt.Errorf(`expected a quantity in quotes, such as "2 GB/s", or {"value": …, "source": …}, got %s`,
					short(raw)))
			return
		}
		text, source = part.readText("value", ""), part.readText("source", source)
		if err := part.firstError(); err != nil {
			r.keep(err)
			return
		}
	}
	v, err := parse(text)
	switch {
	case err != nil:
		r.fail(name, err)
	case v == 0:
		r.fail(name, fmt.Errorf("is 0: leave out a figure that the hardware lacks or that is unknown"))
	case source == "":
		r.fail(name, fmt.Errorf(
			`has no source: add "source" to the row, or write {"value": %s, "source": "where and when it was read"}`,
			short(raw)))
	}
	*f = Figure{v, source}
}

// firstError returns the first error of the row. A field that was not read is an error, too.
func (r *row) firstError() error {
	if r.err != nil {
		return r.err
	}
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(r.taken, name) {
			return fmt.Errorf("%s: %w", r.where, unknownError("field", name, r.taken))
		}
	}
	return nil
}

// fail records an error for a field, unless there is an earlier one.
func (r *row) fail(field string, err error) { r.keep(fmt.Errorf("%s, %s: %w", r.where, field, err)) }

// keep records an error, unless there is an earlier one.
func (r *row) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// plain makes a parser of quantities return float64.
func plain[Q ~float64](parse func(string) (Q, error)) func(string) (float64, error) {
	return func(text string) (float64, error) {
		q, err := parse(text)
		return float64(q), err
	}
}

// operations parses FLOP/s, or operations per second of integers as data sheets write them:
// "624 TOPS".
func operations(text string) (float64, error) {
	speed, err := quantity.ParseFLOPRate(text)
	if err != nil {
		if integer, again := quantity.ParseFLOPRate(strings.NewReplacer("OPS", "FLOPS", "OP/s",
			"FLOP/s").Replace(text)); again == nil {
			return float64(integer), nil
		}
	}
	return float64(speed), err
}

// perKWh parses a price of electricity: "0.12 $/kWh".
func perKWh(text string) (float64, error) {
	number, found := strings.CutSuffix(strings.ReplaceAll(text, " ", ""), "/kWh")
	p, err := quantity.ParsePrice(number + "/h")
	if !found || err != nil {
		return 0, fmt.Errorf("%s is not a price of electricity, expected one such as 0.12 $/kWh", short([]byte(text)))
	}
	return float64(p), nil
}

// readObject parses a JSON object; a syntax error names the line.
func readObject(data []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(data, &fields)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return nil, fmt.Errorf("line %d is not JSON: %w", line, err)
	}
	if err != nil || fields == nil {
		return nil, fmt.Errorf(`expected an object such as {"name": "value"}, got %s`, short(data))
	}
	return fields, nil
}

// unknownError returns the error for a word that is not known, with similar words or a list of
// those known.
func unknownError(what, name string, known []string) error {
	if near := Nearest(name, known); len(near) > 0 {
		return fmt.Errorf("unknown %s %s, did you mean %s?", what, short([]byte(name)), strings.Join(near, " or "))
	}
	if len(known) > 25 {
		known = append(slices.Clone(known[:25]), "…")
	}
	return fmt.Errorf("unknown %s %s, expected one of %s", what, short([]byte(name)), strings.Join(known, ", "))
}

// short quotes text of the file, shortened if it is long.
func short(raw []byte) string {
	text := strings.ToValidUTF8(string(raw[:min(len(raw), 200)]), "?")
	if utf8.RuneCountInString(text) > 40 {
		text = string([]rune(text)[:40]) + "…"
	}
	if strings.HasPrefix(text, `"`) && !strings.ContainsAny(text, "\n\t") {
		return text // quoted already
	}
	return strconv.Quote(text)
}
