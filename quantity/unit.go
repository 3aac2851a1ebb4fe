package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unit is one spelling of a unit. A value is number * 10^ten * factor. Powers of ten are
// applied by moving the decimal point in the text, so that "11.74 ms" is exactly 0.01174.
type unit struct {
	name    string
	ten     int
	factor  float64
	printed bool // String uses it
}

// dimension is a kind of quantity with all its units.
type dimension struct {
	noun    string // "a size"
	example string // "500 KB"
	bare    bool   // a number without a unit is valid
	units   []unit
}

// The dimensions. A unit's name must match as written, or else regardless of case if only one
// unit matches.
var (
	size     = dimension{noun: "a size", example: "500 KB", units: sizes("")}
	rate     = dimension{noun: "a rate", example: "2 GB/s", units: rates()}
	duration = dimension{noun: "a time", example: "11.74 ms", units: []unit{
		{"ns", -9, 1, true},
		{"µs", -6, 1, true},  // the micro sign
		{"μs", -6, 1, false}, // the Greek letter
		{"us", -6, 1, false},
		{"ms", -3, 1, true},
		{"s", 0, 1, true},
		{"sec", 0, 1, false},
		{"second", 0, 1, false},
		{"seconds", 0, 1, false},
		{"min", 0, 60, false},
		{"minutes", 0, 60, false},
		{"h", 0, 3600, false},
		{"hour", 0, 3600, false},
		{"hours", 0, 3600, false},
		{"d", 0, 86400, false},
		{"day", 0, 86400, false},
		{"days", 0, 86400, false},
	}}
	work  = dimension{noun: "an amount of computation", example: "8.2 GFLOP", units: decimal("FLOP", "FLOPs")}
	speed = dimension{noun: "a speed of computation", example: "312 TFLOP/s", units: decimal("FLOP/s", "FLOPs/s",
		"FLOPS")}
	samples = dimension{noun: "a rate of samples", example: "2470 samples/s", units: []unit{
		{"samples/s", 0, 1, true},
		{"sample/s", 0, 1, false},
		{"images/s", 0, 1, false},
		{"image/s", 0, 1, false},
		{"img/s", 0, 1, false},
		{"sequences/s", 0, 1, false},
		{"seq/s", 0, 1, false},
		{"items/s", 0, 1, false},
	}}
	power = dimension{noun: "a power", example: "400 W", units: []unit{
		{"mW", -3, 1, true},
		{"W", 0, 1, true},
		{"watt", 0, 1, false},
		{"watts", 0, 1, false},
		{"kW", 3, 1, true},
		{"MW", 6, 1, true},
	}}
	price = dimension{noun: "a price", example: "$2.50/h", units: []unit{
		{"$/h", 0, 1, true},
		{"$/hr", 0, 1, false},
		{"$/hour", 0, 1, false},
		{"USD/h", 0, 1, false},
		{"USD/hour", 0, 1, false},
		{"dollars/hour", 0, 1, false},
	}}
	carbon = dimension{noun: "an emission", example: "385 gCO2/kWh", units: []unit{
		{"gCO2/kWh", 0, 1, true},
		{"gCO2e/kWh", 0, 1, false},
		{"gCO2eq/kWh", 0, 1, false},
		{"g/kWh", 0, 1, false},
		{"kgCO2/kWh", 3, 1, false},
		{"kgCO2e/kWh", 3, 1, false},
		{"kg/kWh", 3, 1, false},
	}}
	share = dimension{noun: "a share", example: `95 % or 0.95`, bare: true, units: []unit{
		{"%", -2, 1, true},
		{"percent", -2, 1, false},
	}}
	count  = dimension{noun: "a count", example: "8", bare: true}
	number = dimension{noun: "a number without a unit", example: "1.5", bare: true}
)

// dimensions is searched for a unit that belongs to another dimension.
var dimensions = []*dimension{&size, &rate, &duration, &work, &speed, &samples, &power, &price, &carbon, &share}

// prefixes lists the decimal prefixes; k is an alternative spelling of K.
var prefixes = []struct {
	name string
	ten  int
}{{"", 0}, {"K", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"k", 3}}

// decimal returns units with all decimal prefixes before each name; the first name is the
// printed one.
func decimal(names ...string) []unit {
	var units []unit
	for i, name := range names {
		for _, p := range prefixes {
			units = append(units, unit{p.name + name, p.ten, 1, i == 0 && p.name != "k"})
		}
	}
	return units
}

// sizes returns the units of bytes, each followed by suffix: "" or "/s".
func sizes(suffix string) []unit {
	units := decimal("B" + suffix)
	for i, name := range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		units = append(units, unit{name + "B" + suffix, 0, math.Ldexp(1, 10*(i+1)), true})
	}
	return append(units, unit{"byte" + suffix, 0, 1, false}, unit{"bytes" + suffix, 0, 1, false})
}

// rates returns the units of bytes per second in all spellings, and bits spelled out.
func rates() []unit {
	units := sizes("/s")
	for _, spelling := range []string{"ps", "/sec", "/second"} {
		for _, u := range sizes(spelling) {
			u.printed = false
			units = append(units, u)
		}
	}
	for _, u := range decimal("bit/s", "bits/s") {
		units = append(units, unit{u.name, u.ten, 1.0 / 8, false})
	}
	return units
}

// parse parses a number and its unit; the value is finite and not negative.
func parse[Q ~float64](text string, d dimension) (Q, error) {
	digits, ten, name, err := split(text)
	if err != nil {
		return 0, fmt.Errorf("%w, expected %s", err, d.expectedText())
	}
	u := unit{factor: 1}
	if name != "" || !d.bare {
		if u, err = d.find(text, name); err != nil {
			return 0, err
		}
	}
	value, _ := strconv.ParseFloat(digits+"e"+strconv.Itoa(ten+u.ten), 64) // the only possible error is overflow
	value *= u.factor
	switch {
	case math.IsInf(value, 0):
		return 0, fmt.Errorf("%s is too large, expected %s", quote(text), d.expectedText())
	case value == 0 && strings.Trim(digits, "0.") != "":
		return 0, fmt.Errorf("%s is too small to be told from 0, expected %s", quote(text), d.expectedText())
	}
	return Q(value), nil
}

// split separates a text into decimal digits without separators, a power of ten, and the unit
// without spaces.
func split(text string) (digits string, ten int, name string, err error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return "", 0, "", fmt.Errorf("nothing is given")
	}
	dollar := ""
	if after, found := strings.CutPrefix(rest, "$"); found { // $2.50/h is 2.50 $/h
		dollar, rest = "$", strings.TrimSpace(after)
	}
	if strings.HasPrefix(rest, "-") {
		return "", 0, "", fmt.Errorf("%s is negative", quote(text))
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("0123456789.,_", r) })
	if end < 0 {
		end = len(rest)
	}
	digits, rest = rest[:end], rest[end:]
	if digits, err = plain(digits); err != nil {
		return "", 0, "", fmt.Errorf("%s %w", quote(text), err)
	}
	if ten, rest, err = readExponent(rest); err != nil {
		return "", 0, "", fmt.Errorf("%s %w", quote(text), err)
	}
	name = strings.ReplaceAll(rest, " per ", "/")
	return digits, ten, dollar + strings.Join(strings.Fields(name), ""), nil
}

// plain removes the separators from a number: underscores between digits, commas between groups
// of three. It rejects "1,5", which some people read as 1.5 and some as 15.
func plain(digits string) (string, error) {
	whole, fraction, _ := strings.Cut(digits, ".")
	if strings.Trim(digits, ".,_") == "" {
		return "", fmt.Errorf("does not begin with a number")
	}
	if strings.ContainsAny(fraction, ".,") || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") ||
		strings.Contains(digits, "__") || strings.Contains(digits, ",") && strings.Contains(digits, "_") ||
		strings.Contains(digits, "_.") || strings.Contains(digits, "._") {
		return "", fmt.Errorf("has separators where they do not belong")
	}
	groups := strings.Split(whole, ",")
	if len(groups) > 1 {
		for i, group := range groups {
			if i == 0 && (group == "" || len(group) > 3 || group[0] == '0') || i > 0 && len(group) != 3 {
				return "", fmt.Errorf(
					"has a comma that does not separate thousands: write one and a half as 1.5, a thousand as " +
						"1,000 or 1000")
			}
		}
	}
	return strings.NewReplacer(",", "", "_", "").Replace(digits), nil
}

// readExponent parses "e9" or "E-3" directly after the digits.
func readExponent(rest string) (ten int, after string, err error) {
	if rest == "" || rest[0] != 'e' && rest[0] != 'E' {
		return 0, rest, nil
	}
	end := 1
	if end < len(rest) && (rest[end] == '+' || rest[end] == '-') {
		end++
	}
	first := end
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	switch {
	case end == first:
		return 0, rest, nil // "5 exbytes": it is part of the unit
	case end-first > 4:
		return 0, "", fmt.Errorf("has an exponent of more than four digits")
	}
	ten, err = strconv.Atoi(rest[1:end])
	return ten, rest[end:], err
}

// find finds a unit, first in the expected dimension.
func (d dimension) find(text, name string) (unit, error) {
	if name == "" {
		return unit{}, fmt.Errorf("%s has no unit, expected %s", quote(text), d.expectedText())
	}
	if prefix, doubtful := d.perhapsBits(name); doubtful {
		return unit{}, fmt.Errorf("%s may mean bits or bytes: write %sbit/s for bits per second or %s for bytes",
			quote(text), prefix, d.bytes(prefix))
	}
	if u, n := d.match(name); n == 1 {
		return u, nil
	} else if n > 1 {
		return unit{}, fmt.Errorf("%s has a unit whose case decides: write %s", quote(text), u.name)
	}
	for _, other := range dimensions {
		if _, n := other.match(name); n > 0 {
			return unit{}, fmt.Errorf("%s is %s, expected %s", quote(text), other.noun, d.expectedText())
		}
	}
	if len(d.units) == 0 {
		return unit{}, fmt.Errorf("%s: expected %s", quote(text), d.expectedText())
	}
	return unit{}, fmt.Errorf("%s has the unknown unit %s, expected %s", quote(text), quote(name), d.expectedText())
}

// match returns the unit of a name and the number of matches. A name as written matches once.
// Regardless of case several units may match; their names are joined.
func (d dimension) match(name string) (found unit, n int) {
	for _, u := range d.units {
		if u.name == name {
			return u, 1
		}
	}
	for _, u := range d.units {
		switch {
		case !strings.EqualFold(u.name, name):
		case n == 0:
			found, n = u, 1
		case u.ten != found.ten || u.factor != found.factor:
			found.name, n = found.name+" or "+u.name, n+1
		}
	}
	return found, n
}

// perhapsBits recognises spellings of sizes and rates that many people use for bits: a small b
// after a capital prefix ("Gb/s", "Mb"), and "gbps". It returns the prefix in capitals.
func (d dimension) perhapsBits(name string) (prefix string, doubtful bool) {
	rest := strings.TrimLeft(name, "KMGTPkmgtp")
	prefix = name[:len(name)-len(rest)]
	if len(prefix) > 1 || d.noun != size.noun && d.noun != rate.noun {
		return "", false
	}
	capital := prefix != "" && prefix == strings.ToUpper(prefix)
	return strings.ToUpper(prefix), rest == "bps" || capital && (rest == "b" || rest == "b/s" || rest == "b/sec")
}

// bytes returns the name of a unit of bytes, or of bytes per second, with a prefix.
func (d dimension) bytes(prefix string) string {
	if d.noun == rate.noun {
		return prefix + "B/s"
	}
	return prefix + "B"
}

// format prints a value in the decimal unit that fits, or in a binary one if that is shorter.
func (d dimension) format(v float64) string {
	switch {
	case math.IsNaN(v):
		return "unknown"
	case math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'f', -1, 64)
	case len(d.units) == 0:
		return shift(v, 0)
	}
	best := shiftedText(v, d.fitting(v))
	for _, u := range d.units {
		if u.printed && u.factor > 1 && math.Abs(v) >= u.factor {
			if s := shiftedText(v, u); len(s) < len(best) {
				best = s
			}
		}
	}
	return best
}

// fitting returns the largest decimal unit that is not larger than v, or else the smallest; for
// zero, the unit without prefix. The printed units of a dimension are in ascending order.
func (d dimension) fitting(v float64) (best unit) {
	for _, u := range d.units {
		switch {
		case !u.printed || u.factor != 1:
		case best.name == "" || v == 0 && u.ten == 0 || v != 0 && math.Abs(v) >= math.Pow10(u.ten):
			best = u
		}
	}
	return best
}

// shiftedText prints a value in a unit. Division by a power of two is exact.
func shiftedText(v float64, u unit) string { return shift(v/u.factor, u.ten) + " " + u.name }

// shift prints v / 10^ten with the fewest digits that identify v, by moving the point in its
// decimal text.
func shift(v float64, ten int) string {
	digits, exp, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	power, _ := strconv.Atoi(exp)
	if v == 0 {
		return "0"
	}
	sign := ""
	if v < 0 {
		sign, digits = "-", digits[1:]
	}
	digits = strings.Replace(digits, ".", "", 1)
	point := power - ten + 1 // digits before the point
	switch {
	case point > 21 || point < -5:
		text := sign + digits[:1]
		if len(digits) > 1 {
			text += "." + digits[1:]
		}
		return text + "e" + strconv.Itoa(point-1)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}

// expectedText names the dimension with an example.
func (d dimension) expectedText() string { return d.noun + " such as " + d.example }

// quote quotes the user's text, shortened if it is long.
func quote(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		text = string(runes[:40]) + "…"
	}
	return strconv.Quote(text)
}
