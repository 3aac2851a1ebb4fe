package quantity_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stoker-dev/stoker/quantity"
)

func ExampleParseBytes() {
	sample, err := quantity.ParseBytes("500 KB")
	fmt.Println(float64(sample), sample, err)

	_, err = quantity.ParseBytes("500")
	fmt.Println(err)
	// Output:
	// 500000 500 KB <nil>
	// "500" has no unit, expected a size such as 500 KB
}

func ExampleParseRate() {
	disk, _ := quantity.ParseRate("6,500 MBps")
	network, _ := quantity.ParseRate("100 Gbit/s")
	fmt.Println(disk, "and", network)

	_, err := quantity.ParseRate("500 KB")
	fmt.Println(err)
	// Output:
	// 6.5 GB/s and 12.5 GB/s
	// "500 KB" is a size, expected a rate such as 2 GB/s
}

func ExampleParseSeconds() {
	step, _ := quantity.ParseSeconds("11.74 ms")
	fmt.Println(float64(step), step)
	// Output:
	// 0.01174 11.74 ms
}

func ExampleParseShare() {
	a, _ := quantity.ParseShare("95 %")
	b, _ := quantity.ParseShare("0.95")
	fmt.Println(a, a == b)

	_, err := quantity.ParseShare("95")
	fmt.Println(err)
	// Output:
	// 95 % true
	// "95" is more than the whole: write a share as "95 %" or "0.95"
}

func ExamplePositive() {
	rate, _ := quantity.ParseRate("0 GB/s")
	fmt.Println(quantity.Positive("cpu throughput", rate))
	// Output:
	// cpu throughput is 0 B/s: expected more than 0 and finite
}

// kind is one quantity with its type taken off.
type kind struct {
	name  string
	parse func(string) (float64, error)
	text  func(float64) string
}

func of[Q interface {
	~float64
	fmt.Stringer
}](name string, parse func(string) (Q, error),
) kind {
	return kind{
		name:  name,
		parse: func(s string) (float64, error) { q, err := parse(s); return float64(q), err },
		text:  func(v float64) string { return Q(v).String() },
	}
}

var kinds = []kind{
	of("bytes", quantity.ParseBytes), of("rate", quantity.ParseRate), of("seconds", quantity.ParseSeconds),
	of("flop", quantity.ParseFLOP), of("flop/s", quantity.ParseFLOPRate), of("samples/s", quantity.ParseSampleRate),
	of("watts", quantity.ParseWatts), of("price", quantity.ParsePrice), of("carbon", quantity.ParseCarbon),
	of("share", quantity.ParseShare), of("count", quantity.ParseCount), of("number", quantity.ParseNumber),
}

func kindOf(t *testing.T, name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return kind{}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       float64
		print      string // "": same as text
	}{
		{"bytes", "500 KB", 500e3, ""},
		{"bytes", "500KB", 500e3, "500 KB"},
		{"bytes", "500 kB", 500e3, "500 KB"},
		{"bytes", "500 kb", 500e3, "500 KB"},
		{"bytes", "500 KiB", 512000, "512 KB"},
		{"bytes", "16 gib", 16 << 30, "16 GiB"},
		{"bytes", "1.5 GiB", 1.5 * (1 << 30), "1.5 GiB"},
		{"bytes", "114,660 B", 114660, "114.66 KB"},
		{"bytes", "1_000_000 bytes", 1e6, "1 MB"},
		{"bytes", ".5 GB", 5e8, "500 MB"},
		{"bytes", "0 B", 0, ""},
		{"bytes", "5e3 B", 5e3, "5 KB"},
		{"bytes", "2 PB", 2e15, ""},
		{"rate", "2 GB/s", 2e9, ""},
		{"rate", "2 gb/s", 2e9, "2 GB/s"},
		{"rate", "2 GBps", 2e9, "2 GB/s"},
		{"rate", "2 GB per s", 2e9, "2 GB/s"},
		{"rate", "2 GB / s", 2e9, "2 GB/s"},
		{"rate", "2 GiB/s", 2 << 30, "2 GiB/s"},
		{"rate", "100 Gbit/s", 12.5e9, "12.5 GB/s"},
		{"rate", "8 kbit/s", 1e3, "1 KB/s"},
		{"seconds", "11.74 ms", 0.01174, ""},
		{"seconds", "20 us", 20e-6, "20 µs"},
		{"seconds", "20 μs", 20e-6, "20 µs"},
		{"seconds", "2 min", 120, "120 s"},
		{"seconds", "1.5 h", 5400, "5400 s"},
		{"flop", "8.2 GFLOP", 8.2e9, ""},
		{"flop", "8.2 gflops", 8.2e9, "8.2 GFLOP"},
		{"flop/s", "312 TFLOP/s", 312e12, ""},
		{"flop/s", "312 tflops", 312e12, "312 TFLOP/s"},
		{"samples/s", "2,470 img/s", 2470, "2470 samples/s"},
		{"watts", "400 W", 400, ""},
		{"watts", "1.2 kw", 1200, "1.2 kW"},
		{"price", "$2.50/h", 2.5, "2.5 $/h"},
		{"price", "$ 2.50 per hour", 2.5, "2.5 $/h"},
		{"carbon", "385 gCO2/kWh", 385, ""},
		{"carbon", "0.385 kg CO2 per kWh", 385, "385 gCO2/kWh"},
		{"share", "95 %", 0.95, ""},
		{"share", "0.95", 0.95, "95 %"},
		{"share", "1", 1, "100 %"},
		{"count", "437", 437, ""},
		{"count", "1,024", 1024, "1024"},
		{"number", "1.5", 1.5, ""},
	} {
		k := kindOf(t, c.kind)
		got, err := k.parse(c.text)
		if err != nil || got != c.want {
			t.Errorf("%s %q: %v, %v; want %v", c.kind, c.text, got, err, c.want)
			continue
		}
		want := c.print
		if want == "" {
			want = c.text
		}
		if k.text(got) != want {
			t.Errorf("%s %q prints as %q, want %q", c.kind, c.text, k.text(got), want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"bytes", "", "nothing is given, expected a size such as 500 KB"},
		{"bytes", "  ", "nothing is given, expected a size such as 500 KB"},
		{"bytes", "500", `"500" has no unit, expected a size such as 500 KB`},
		{"bytes", "0", `"0" has no unit, expected a size such as 500 KB`},
		{"bytes", "2 GB/s", `"2 GB/s" is a rate, expected a size such as 500 KB`},
		{"bytes", "2 XB", `"2 XB" has the unknown unit "XB", expected a size such as 500 KB`},
		{"bytes", "-2 KB", `"-2 KB" is negative, expected a size such as 500 KB`},
		{"bytes", "NaN", `"NaN" does not begin with a number, expected a size such as 500 KB`},
		{"bytes", "inf KB", `"inf KB" does not begin with a number, expected a size such as 500 KB`},
		{"bytes", "1,5 KB", `"1,5 KB" has a comma that does not separate thousands: write one and a half as 1.5, a thousand as 1,000 or 1000, expected a size such as 500 KB`},
		{"bytes", "0,500 KB", `"0,500 KB" has a comma that does not separate thousands: write one and a half as 1.5, a thousand as 1,000 or 1000, expected a size such as 500 KB`},
		{"bytes", "1__0 KB", `"1__0 KB" has separators where they do not belong, expected a size such as 500 KB`},
		{"bytes", "1,_00 KB", `"1,_00 KB" has separators where they do not belong, expected a size such as 500 KB`},
		{"seconds", "5 Gb", `"5 Gb" is a size, expected a time such as 11.74 ms`},
		{"bytes", "1.2.3 KB", `"1.2.3 KB" has separators where they do not belong, expected a size such as 500 KB`},
		{"bytes", "1e400 B", `"1e400 B" is too large, expected a size such as 500 KB`},
		{"bytes", "1e99999999 B", `"1e99999999 B" has an exponent of more than four digits, expected a size such as 500 KB`},
		{"bytes", "1e308 GiB", `"1e308 GiB" is too large, expected a size such as 500 KB`},
		{"bytes", "1e-400 B", `"1e-400 B" is too small to be told from 0, expected a size such as 500 KB`},
		{"bytes", "5 Mb", `"5 Mb" may mean bits or bytes: write Mbit/s for bits per second or MB for bytes`},
		{"rate", "500 KB", `"500 KB" is a size, expected a rate such as 2 GB/s`},
		{"rate", "2 Gb/s", `"2 Gb/s" may mean bits or bytes: write Gbit/s for bits per second or GB/s for bytes`},
		{"rate", "2 gbps", `"2 gbps" may mean bits or bytes: write Gbit/s for bits per second or GB/s for bytes`},
		{"rate", "12 ms", `"12 ms" is a time, expected a rate such as 2 GB/s`},
		{"seconds", "11.74", `"11.74" has no unit, expected a time such as 11.74 ms`},
		{"watts", "5 mw", `"5 mw" has a unit whose case decides: write mW or MW`},
		{"price", "$2.50", `"$2.50" has the unknown unit "$", expected a price such as $2.50/h`},
		{"share", "95", `"95" is more than the whole: write a share as "95 %" or "0.95"`},
		{"share", "101 %", `"101 %" is more than the whole: write a share as "95 %" or "0.95"`},
		{"count", "1.5", `"1.5" is not a whole number, expected a count such as 8`},
		{"count", "8 GB", `"8 GB" is a size, expected a count such as 8`},
		{"count", "8 workers", `"8 workers": expected a count such as 8`},
		{"number", "1.5 x\x1b[31m", `"1.5 x\x1b[31m": expected a number without a unit such as 1.5`},
	} {
		if got, err := kindOf(t, c.kind).parse(c.text); err == nil || err.Error() != c.want || got != 0 {
			t.Errorf("%s %q: %v and the error\n  %v\nwant\n  %s", c.kind, c.text, got, err, c.want)
		}
	}
}

func TestPositive(t *testing.T) {
	for v, want := range map[float64]string{
		0:           "step is 0 s: expected more than 0 and finite",
		-1:          "step is -1 s: expected more than 0 and finite",
		math.Inf(1): "step is +Inf: expected more than 0 and finite",
	} {
		if err := quantity.Positive("step", quantity.Seconds(v)); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", v, err, want)
		}
	}
	if err := quantity.Positive("step", quantity.Seconds(math.NaN())); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("NaN: %v", err)
	}
	if err := quantity.Positive("step", quantity.Seconds(1e-9)); err != nil {
		t.Error(err)
	}
}

// roundTrip says how a value that a parser may return survives String and back.
func (k kind) roundTrip(v float64) error {
	text := k.text(v)
	back, err := k.parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %v prints as %q, which is refused: %w", k.name, v, text, err)
	case back != v:
		return fmt.Errorf("%s: %v prints as %q, which is %v", k.name, v, text, back)
	}
	return nil
}

// TestRoundTrip: units survive a round trip exactly, over the whole range of
// float64 and around the sizes that people have.
func TestRoundTrip(t *testing.T) {
	for _, k := range kinds {
		same := func(v float64) bool {
			v = k.fit(v)
			if err := k.roundTrip(v); err != nil {
				t.Log(err)
				return false
			}
			return true
		}
		everyday := func(mantissa uint16, exp int8) bool {
			v := float64(mantissa) * math.Pow(10, float64(exp%20))
			return same(v) && same(float64(mantissa)*math.Ldexp(1, int(exp)))
		}
		if err := errors.Join(quick.Check(same, nil), quick.Check(everyday, nil)); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		for _, v := range []float64{0, 1, math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1, 1.0 / 3, 999.9999999999999, 1000, 1024} {
			if err := k.roundTrip(k.fit(v)); err != nil {
				t.Error(err)
			}
		}
	}
}

// fit brings any number into the range that the quantity can have.
func (k kind) fit(v float64) float64 {
	v = math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0
	case k.name == "share" && v > 1:
		return 1 / v
	case k.name == "count":
		return math.Trunc(v)
	}
	return v
}

func TestUnknownIsUnknown(t *testing.T) {
	for _, k := range kinds {
		if got := k.text(math.NaN()); got != "unknown" {
			t.Errorf("%s: NaN prints as %q", k.name, got)
		}
	}
}

// FuzzQuantity: for any text, a parser returns a finite number that survives a round trip, or
// an error sentence; and every number survives a round trip.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{
		"500 KB", "2 GB/s", "11.74 ms", "312 TFLOP/s", "$2.50/h", "95 %", "1,024", "1_0.5e-3 µs", "100 Gbit/s",
		"385 g CO2 per kWh", "", "-1", "NaN", "1e309 B", "1,5 GB", "2 Gb/s", "\xff", "5 e", "0,0", "._",
	} {
		f.Add(text, 0.1)
	}
	f.Fuzz(func(t *testing.T, text string, number float64) {
		for _, k := range kinds {
			if err := k.roundTrip(k.fit(number)); err != nil {
				t.Error(err)
			}
			v, err := k.parse(text)
			if err != nil {
				if v != 0 || len(err.Error()) < 10 || len(err.Error()) > 1000 {
					t.Errorf("%s %q: value %v, error %v", k.name, text, v, err)
				}
				continue
			}
			if !(v >= 0) || math.IsInf(v, 0) {
				t.Fatalf("%s %q is %v", k.name, text, v)
			}
			if err := k.roundTrip(v); err != nil {
				t.Error(err)
			}
		}
	})
}
