package order

import (
	"strings"
	"testing"
)

var someState = State{
	Manifest: "0123456789abcdef0123456789abcdef",
	Pipeline: "fedcba9876543210fedcba9876543210",
	Seed:     42,
	Epoch:    7,
	Consumed: 4096,
}

const someStateText = `{"format":1,"manifest":"0123456789abcdef0123456789abcdef","pipeline":"fedcba9876543210fedcba9876543210","seed":42,"epoch":7,"consumed":4096}`

func TestStateText(t *testing.T) {
	if got := someState.String(); got != someStateText {
		t.Errorf("got  %s\nwant %s", got, someStateText)
	}
	largest := someState
	largest.Seed, largest.Epoch, largest.Consumed = 1<<64-1, 1<<32-1, MaxSamples
	for _, s := range []State{someState, largest} {
		text := s.String()
		if len(text)+11 > 200 { // and with Python's spaces
			t.Errorf("%d bytes: %s", len(text), text)
		}
		if got, err := ParseState([]byte(text)); err != nil || got != s {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// Python writes spaces, and perhaps another order.
func TestParseStateOfAnotherWriter(t *testing.T) {
	text := ` { "consumed": 4096, "seed": 42, "epoch": 7,
		"pipeline": "fedcba9876543210fedcba9876543210", "manifest": "0123456789abcdef0123456789abcdef", "format": 1 } `
	if got, err := ParseState([]byte(text)); err != nil || got != someState {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseStateRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{someStateText, ``, "not a JSON object"},
		{someStateText, `7`, "not a JSON object"},
		{someStateText, `{}`, `field "format" is missing`},
		{someStateText, strings.Repeat(" ", 2000), "2000 bytes"},
		{`"consumed":4096}`, `"consumed":4096`, "ends too early"},
		{`"consumed":4096}`, `"consumed":4096}x`, "something follows"},
		{`"consumed":4096}`, `"consumed":4096}{}`, "something follows"},
		{`"seed":42`, `"seed":42,"seed":43`, `field "seed" comes twice`},
		{`"seed":42`, `"Seed":42`, `field "seed" is missing`},
		{`"seed":42`, `"seed":42,"world":8`, `field "world" is unknown`},
		{`"seed":42`, `"seed":"42"`, `field "seed" is "42": a whole number`},
		{`"seed":42`, `"seed":null`, `field "seed" is null`},
		{`"seed":42`, `"seed":-1`, `field "seed" is -1: a whole number from 0 to 18446744073709551615`},
		{`"seed":42`, `"seed":18446744073709551616`, `field "seed" is 18446744073709551616`},
		{`"seed":42`, `"seed":4.0`, `field "seed" is 4.0`},
		{`"seed":42`, `"seed":1e3`, `field "seed" is 1e3`},
		{`"seed":42`, `"seed":[1,2]`, `in field "seed"`},
		{`"seed":42`, `"seed":{}`, `in field "seed"`},
		{`"seed":42`, `"seed":042`, "damaged at byte"},
		{`"seed":42`, `seed:42`, "damaged at byte"},
		{`"epoch":7`, `"epoch":4294967296`, "from 0 to 4294967295"},
		{`"consumed":4096`, `"consumed":1099511627777`, "from 0 to 1099511627776"},
		{`"format":1`, `"format":2`, "it has format 2, this stoker reads format 1"},
		{`"0123`, `"012`, "32 hexadecimal digits"},
		{`"0123`, `"012X`, "32 hexadecimal digits"},
		{`"0123456789abcdef0123456789abcdef"`, `3`, `field "manifest" is 3: 32 hexadecimal digits`},
	} {
		text := strings.Replace(someStateText, c.old, c.new, 1)
		if text == someStateText {
			t.Fatalf("%q is not in the text", c.old)
		}
		if got, err := ParseState([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "read state: ") || !strings.Contains(err.Error(), c.want) || got != (State{}) {
			t.Errorf("%s:\n%+v, %v, want %q in it", text, got, err, c.want)
		}
	}
}

func TestStateContinues(t *testing.T) {
	s := someState
	for _, c := range []struct {
		manifest, pipeline string
		samples            int
		want               string
	}{
		{s.Pipeline, s.Pipeline, 5000, "other samples"},
		{s.Manifest, s.Manifest, 5000, "another pipeline"},
		{s.Manifest, s.Pipeline, 4095, "an epoch has 4095"},
	} {
		if err := s.Continues(c.manifest, c.pipeline, c.samples); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q in it", err, c.want)
		}
	}
	if err := s.Continues(s.Manifest, s.Pipeline, 4096); err != nil {
		t.Error(err)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(someStateText))
	f.Add([]byte(`{"format":1,"seed":[1,2],"seed":{}}`))
	f.Add([]byte(`{"format":1e400,"a":"\ud800"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseState(text)
		if err != nil {
			if s != (State{}) || len(err.Error()) > 10*maxStateText {
				t.Errorf("%+v, %d bytes of error", s, len(err.Error()))
			}
			return
		}
		again, err := ParseState([]byte(s.String()))
		if err != nil || again != s || len(s.String()) > 200 {
			t.Errorf("%q gives %+v, and that %+v, %v", text, s, again, err)
		}
	})
}
