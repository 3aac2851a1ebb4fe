package quantity

import (
	"fmt"
	"math"
)

// Bytes is a size in bytes. Like the other quantities it is a number in its base unit. People
// write quantities with units ("500 KB", "2 GB/s", "11.74 ms"), so each has a parser, and its
// String parses back to exactly the same value.
//
// Decimal and binary prefixes differ: 1 KB = 1,000 bytes, 1 KiB = 1,024. Bits are accepted only
// in rates and only spelled out ("100 Gbit/s"). A comma separates thousands; underscores
// between digits are allowed. The case of a unit matters only if it is ambiguous: "gb/s" is
// GB/s, but "Gb/s" and "gbps" could mean bits and are rejected. No parser returns a negative
// number, NaN or infinity. Zero is a value; Positive rejects it where zero makes no sense.
type Bytes float64

// Rate is in bytes per second.
type Rate float64

// Seconds is a time in seconds.
type Seconds float64

// FLOP is an amount of computation: floating-point operations, 2 per multiply-add.
type FLOP float64

// FLOPRate is in floating-point operations per second.
type FLOPRate float64

// SampleRate is in samples per second.
type SampleRate float64

// Watts is a power in watts.
type Watts float64

// Price is in dollars per hour.
type Price float64

// Carbon is in grams of CO2 per kWh of electricity.
type Carbon float64

// Share is a part of a whole, 0 to 1.
type Share float64

// Count is a whole number of things.
type Count float64

// Number has no unit and may be fractional, such as 1.5 cores.
type Number float64

// ParseBytes parses a size: "500 KB", "1.5 GiB". The errors of all parsers quote the text and
// say what was expected.
func ParseBytes(text string) (Bytes, error) { return parse[Bytes](text, size) }

// ParseRate parses a rate of bytes: "2 GB/s", "250 MBps", "100 Gbit/s".
func ParseRate(text string) (Rate, error) { return parse[Rate](text, rate) }

// ParseSeconds parses a time: "11.74 ms", "20 µs", "1.5 h".
func ParseSeconds(text string) (Seconds, error) { return parse[Seconds](text, duration) }

// ParseFLOP parses an amount of computation: "8.2 GFLOP".
func ParseFLOP(text string) (FLOP, error) { return parse[FLOP](text, work) }

// ParseFLOPRate parses a speed of computation: "312 TFLOP/s".
func ParseFLOPRate(text string) (FLOPRate, error) { return parse[FLOPRate](text, speed) }

// ParseSampleRate parses a rate of samples: "2,470 samples/s", "2470 img/s".
func ParseSampleRate(text string) (SampleRate, error) { return parse[SampleRate](text, samples) }

// ParseWatts parses a power: "400 W", "1.2 kW".
func ParseWatts(text string) (Watts, error) { return parse[Watts](text, power) }

// ParsePrice parses a price per hour: "$2.50/h", "2.5 USD/h".
func ParsePrice(text string) (Price, error) { return parse[Price](text, price) }

// ParseCarbon parses the emission per kWh of electricity: "385 gCO2/kWh".
func ParseCarbon(text string) (Carbon, error) { return parse[Carbon](text, carbon) }

// ParseShare parses a part of a whole: "95 %" or "0.95". It rejects a plain number above 1,
// which may be meant as per cent.
func ParseShare(text string) (Share, error) {
	s, err := parse[Share](text, share)
	if err == nil && s > 1 {
		return 0, fmt.Errorf(`%s is more than the whole: write a share as "95 %%" or "0.95"`, quote(text))
	}
	return s, err
}

// ParseCount parses a whole number: "8", "1,024".
func ParseCount(text string) (Count, error) {
	n, err := parse[Count](text, count)
	if err == nil && float64(n) != math.Trunc(float64(n)) {
		return 0, fmt.Errorf("%s is not a whole number, expected %s", quote(text), count.expectedText())
	}
	return n, err
}

// ParseNumber parses a number without a unit: "1.5".
func ParseNumber(text string) (Number, error) { return parse[Number](text, number) }

// Positive returns an error if a quantity is zero, negative, unknown (NaN) or infinite. The
// error begins with what, the name of the quantity.
func Positive[Q interface {
	~float64
	fmt.Stringer
}](what string, q Q) error {
	v := float64(q)
	switch {
	case math.IsNaN(v):
		return fmt.Errorf("%s is unknown: expected more than 0", what)
	case v > 0 && !math.IsInf(v, 1):
		return nil
	}
	return fmt.Errorf("%s is %s: expected more than 0 and finite", what, q)
}

// String prints the shortest readable form that parses back to the same value: "500 KB", or "16
// GiB" because that is shorter than "17.179869184 GB". NaN is "unknown".
func (b Bytes) String() string { return size.format(float64(b)) }

// String prints a rate like "2 GB/s"; it parses back to the same value.
func (r Rate) String() string { return rate.format(float64(r)) }

// String prints a time like "11.74 ms"; it parses back to the same value.
func (s Seconds) String() string { return duration.format(float64(s)) }

// String prints an amount of computation like "8.2 GFLOP"; it parses back to the
// same value.
func (f FLOP) String() string { return work.format(float64(f)) }

// String prints a speed of computation like "312 TFLOP/s"; it parses back to the
// same value.
func (f FLOPRate) String() string { return speed.format(float64(f)) }

// String prints a rate like "2470 samples/s"; it parses back to the same value.
func (s SampleRate) String() string { return samples.format(float64(s)) }

// String prints a power like "400 W"; it parses back to the same value.
func (w Watts) String() string { return power.format(float64(w)) }

// String prints a price like "2.5 $/h"; it parses back to the same value.
func (p Price) String() string { return price.format(float64(p)) }

// String prints a figure like "385 gCO2/kWh"; it parses back to the same value.
func (c Carbon) String() string { return carbon.format(float64(c)) }

// String prints a share like "95 %"; it parses back to the same value.
func (s Share) String() string { return share.format(float64(s)) }

// String prints a count like "437"; it parses back to the same value.
func (c Count) String() string { return count.format(float64(c)) }

// String prints a number like "1.5"; it parses back to the same value.
func (n Number) String() string { return number.format(float64(n)) }
