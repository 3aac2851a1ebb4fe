package kineto

import (
	"math"
	"strconv"
)

// argumentField is one argument of events: how its value is read, and its names, of which it
// has several where dialects spell it differently.
type argumentField struct {
	form  form
	names []string
}

// arguments is the one table of the arguments of events that are read. The fast scanner
// and the general reader both go by it, so that both know the same ones.
var arguments = []argumentField{
	{
		wholeNumber{of: func(e *event) *int64 { return &e.corr }},
		[]string{"correlation", "correlation id", "Correlation", "connection_id"},
	},
	{wholeNumber{of: func(e *event) *int64 { return &e.ext }}, []string{"External id", "external id"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.stream }, seen: hasStream}, []string{"stream"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.device }, seen: hasDevice}, []string{"device"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.bytes }}, []string{"bytes", "size", "Bytes"}},
	{dimensions{of: func(e *event) *int32 { return &e.blocks }}, []string{"grid"}},
	{dimensions{of: func(e *event) *int32 { return &e.threads }}, []string{"block"}},
	{decimalRatio{of: func(e *event) *float32 { return &e.perSM }, unit: 1}, []string{"blocks per SM"}},
	{decimalRatio{of: func(e *event) *float32 { return &e.occ }, unit: 100}, []string{"est. achieved occupancy %"}},
	{arrayText{of: func(e *event) *[]byte { return &e.shapes }}, []string{"Input Dims", "Input dims", "Input Shapes"}},
	{arrayText{of: func(e *event) *[]byte { return &e.types }}, []string{"Input type", "Input Type"}},
	{quotedText{of: func(e *event) *[]byte { return &e.stack }}, []string{"Call stack"}},
	{quotedText{of: func(e *event) *[]byte { return &e.label }}, []string{"name"}},
	{quotedText{of: func(e *event) *[]byte { return &e.task }}, []string{"Task Type"}},
	{quotedText{of: func(e *event) *[]byte { return &e.collective }}, []string{"Collective name"}},
	{quotedText{of: func(e *event) *[]byte { return &e.dtype }}, []string{"dtype"}},
	{quotedText{of: func(e *event) *[]byte { return &e.group }}, []string{"Process Group Name"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.nelems }}, []string{"In msg nelems"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.address }}, []string{"Addr"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.allocated }}, []string{"Total Allocated"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.reserved }}, []string{"Total Reserved"}},
	{wholeNumber{of: func(e *event) *int64 { return &e.device }}, []string{"Device Id"}},
}

// argumentSlots finds an argument by a hash of its name: the place in arguments plus one.
// A name whose slot is taken has the next free one.
var argumentSlots = func() (slots [256]struct {
	name string
	form form
},
) {
	for _, a := range arguments {
		for _, name := range a.names {
			h := hashKey([]byte(name))
			for slots[h].form != nil {
				h++
			}
			slots[h].name, slots[h].form = name, a.form
		}
	}
	return slots
}()

// hashKey tells most keys of arguments apart by their length and two letters. The factor is
// one with which the keys that PyTorch writes most often, asked for or not, are found or
// missed at the first look.
func hashKey(key []byte) uint8 {
	n := len(key)
	if n == 0 {
		return 0
	}
	return uint8(n) + key[n-1] + key[n/2]*7
}

// formOf is how the value of an argument is read; nil if it is not needed.
func formOf(key []byte) form {
	for h := hashKey(key); ; h++ {
		slot := &argumentSlots[h]
		if slot.form == nil || slot.name == string(key) {
			return slot.form
		}
	}
}

// form is how a value becomes a field of an event. Its two methods stand side by side so
// that they take the same values: scan those that Kineto writes, and gives the event to
// the general reader if it finds another one.
type form interface {
	scanValue(s *scanner, b []byte, i int) (end int, ok bool)
	setValue(e *event, v jsonValue)
}

// wholeNumber is a whole number, also in quotes.
type wholeNumber struct {
	of   func(*event) *int64
	seen fieldSet // that an event gets which has it
}

func (f wholeNumber) scanValue(s *scanner, b []byte, i int) (end int, ok bool) {
	return s.e.scanInt(b, i, f.of(&s.e), f.seen)
}

func (f wholeNumber) setValue(e *event, v jsonValue) { e.setInt(f.of(e), f.seen, v) }

func (e *event) scanInt(b []byte, i int, field *int64, seen fieldSet) (end int, ok bool) {
	if b[i] == '"' {
		text, end, ok := plainString(b, i)
		if v, number := numeral(text); ok && number {
			*field = v
			e.flags |= seen
		}
		return end, ok
	}
	v, end, ok := integer(b, i)
	if ok {
		*field = v
		e.flags |= seen
	}
	return end, ok
}

// scanID reads the number of a flow, also in quotes.
func (e *event) scanID(b []byte, i int) (end int, ok bool) {
	if b[i] != '"' {
		return e.scanInt(b, i, &e.id, hasID)
	}
	text, end, ok := plainString(b, i)
	if ok {
		e.setID(text)
	}
	return end, ok
}

// setID takes the number of a flow that is given as text. One that does not fit, as Ascend's exporter writes it, gets a
// negative number.
func (e *event) setID(text []byte) {
	if len(text) == 0 {
		return
	}
	e.flags |= hasID
	n, number := numeral(text)
	if e.id = n; number {
		return
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range text {
		h = (h ^ uint64(c)) * 1099511628211
	}
	e.id = -2 - int64(h>>2)
}

func (e *event) setInt(field *int64, seen fieldSet, v jsonValue) {
	var n int64
	ok := false
	switch v.is {
	case '0':
		n, ok = wholePart(v.text)
	case '"':
		n, ok = numeral(v.text)
	}
	if ok {
		*field = n
		e.flags |= seen
	}
}

// dimensions are the size of a grid or block: the product of an array.
type dimensions struct{ of func(*event) *int32 }

func (f dimensions) scanValue(s *scanner, b []byte, i int) (end int, ok bool) {
	end, ok = skipValue(b, i)
	if ok && b[i] == '[' {
		*f.of(&s.e) = product(b[i:end])
	}
	return end, ok
}

func (f dimensions) setValue(e *event, v jsonValue) {
	if v.is == '[' {
		*f.of(e) = product(v.text)
	}
}

// product multiplies the whole numbers of an array, "[8, 16, 5]"; 0 if it
// holds anything else.
func product(list []byte) int32 {
	p, n, digits, any := int64(1), int64(0), 0, false
	for _, c := range list[1:] {
		switch {
		case c >= '0' && c <= '9' && digits < 10:
			n, digits = n*10+int64(c-'0'), digits+1
		case c == ',' || c == ']':
			if digits == 0 {
				return 0
			}
			p, n, digits, any = min(p*n, math.MaxInt32), 0, 0, true
		case c > ' ':
			return 0
		}
	}
	if !any {
		return 0
	}
	return int32(p)
}

// decimalRatio is a decimal number in a unit: 100 if it is written in percent.
type decimalRatio struct {
	of   func(*event) *float32
	unit float64
}

// tens are powers of ten that a double holds exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// scanValue: with at most 15 digits the division below rounds once and so gives the nearest
// double, as strconv does.
func (f decimalRatio) scanValue(s *scanner, b []byte, i int) (end int, ok bool) {
	j, point := i, -1
	var v int64
	for ; ; j++ {
		c := b[j]
		if c == '.' && point < 0 && j > i {
			point = j
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		v = v*10 + int64(c-'0')
		if j-i > 17 {
			return i, false
		}
	}
	if j == i || point == j-1 || !delimits(b[j]) {
		return i, false
	}
	number := float64(v)
	if point >= 0 {
		if j-i > 16 {
			number, _ = strconv.ParseFloat(string(b[i:j]), 64)
		} else {
			number /= tens[j-point-1]
		}
	}
	if number /= f.unit; number < math.MaxFloat32 {
		*f.of(&s.e) = float32(number)
	}
	return j, true
}

func (f decimalRatio) setValue(e *event, v jsonValue) {
	if v.is != '0' {
		return
	}
	number, err := strconv.ParseFloat(string(v.text), 64)
	if err == nil && number >= 0 && number/f.unit < math.MaxFloat32 {
		*f.of(e) = float32(number / f.unit)
	}
}

// arrayText is a JSON array as it is written.
type arrayText struct{ of func(*event) *[]byte }

func (f arrayText) scanValue(s *scanner, b []byte, i int) (end int, ok bool) {
	end, ok = skipValue(b, i)
	if ok && b[i] == '[' {
		*f.of(&s.e) = b[i:end]
	}
	return end, ok
}

func (f arrayText) setValue(e *event, v jsonValue) {
	if v.is == '[' {
		*f.of(e) = v.text
	}
}

// quotedText is a string.
type quotedText struct{ of func(*event) *[]byte }

func (f quotedText) scanValue(s *scanner, b []byte, i int) (end int, ok bool) {
	*f.of(&s.e), end, ok = s.stringAt(b, i)
	return end, ok
}

func (f quotedText) setValue(e *event, v jsonValue) { setText(f.of(e), v) }
