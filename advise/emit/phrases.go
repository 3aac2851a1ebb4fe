package emit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
)

// form reads the new value of a setting and prints it as Python; false if it is
// no value of this setting.
type form func(c stoker.Change) (text string, ok bool)

// mostCount is the largest number that any of these settings takes.
const mostCount = 1_000_000

// countForm is a whole number, given or as a multiple of the number that was found.
func countForm(least int) form {
	return func(c stoker.Change) (string, bool) {
		v, ok := stoker.Settings{"": c.To}.Float("")
		if times, relative := multiple(c.To); relative {
			from, known := stoker.Settings{"": c.From}.Float("")
			v, ok = math.Round(times*from), known
		}
		whole := ok && v == math.Trunc(v) && v >= float64(least) && v <= mostCount
		return strconv.Itoa(int(max(0, min(v, mostCount)))), whole
	}
}

// pythonBool is True or False.
func pythonBool(c stoker.Change) (string, bool) {
	_, ok := c.To.(bool)
	return pythonLiteral(c.To), ok
}

// name is one of some words, as a string.
func name(known ...string) form {
	return func(c stoker.Change) (string, bool) {
		text, _ := c.To.(string)
		return pythonLiteral(text), slices.Contains(known, text)
	}
}

// pythonString is any text, as a string.
func pythonString(c stoker.Change) (string, bool) {
	text, ok := c.To.(string)
	return pythonLiteral(text), ok && text != ""
}

// mostTimes is the largest multiple that is taken for one.
const mostTimes = 1024

// multiple reads "2x": so many times what there is now.
func multiple(v any) (times float64, ok bool) {
	text, _ := v.(string)
	digits, found := strings.CutSuffix(text, "x")
	n, err := strconv.ParseFloat(digits, 64)
	return n, found && err == nil && n > 0 && n <= mostTimes
}

// keyword is an argument of a call, in the form of its value.
func keyword(call, name string, value form) phrase {
	return func(c stoker.Change) line {
		if v, ok := value(c); ok {
			return line{call: call, text: name + "=" + v}
		}
		return inWords(name)(c)
	}
}

// chooseLine is a line for each of some values, which are written as in Python.
func chooseLine(lines map[string]line) phrase {
	return func(c stoker.Change) line {
		if l, ok := lines[pythonLiteral(c.To)]; ok {
			return l
		}
		return inWords(string(c.Setting))(c)
	}
}

// statement is one or more whole lines; %s in them is the value.
func statement(lines string, value form) phrase {
	return func(c stoker.Change) line {
		v, ok := value(c)
		if !ok {
			return inWords(string(c.Setting))(c)
		}
		return line{text: strings.ReplaceAll(lines, "%s", v)}
	}
}

// remark is a comment where the value is as expected.
func remark(comment string, value form) phrase { return statement("# "+comment, value) }

// inWords says a change that no line makes: in proportion, or as it is.
func inWords(name string) phrase {
	return func(c stoker.Change) line {
		if times, relative := multiple(c.To); relative {
			return line{text: fmt.Sprintf("# %s: %s what it is now, which is not known here", name,
				cmp.Or(map[float64]string{2: "twice"}[times], fmt.Sprint(times, " times")))}
		}
		return line{text: fmt.Sprintf("# %s: %s, %s", name, pythonLiteral(c.To), was(c))}
	}
}

// importing is the line that puts stoker.DataLoader in the place of torch's.
const importing = "from stoker import DataLoader  # in the place of torch.utils.data's, with the same arguments"

// ours is a keyword that only stoker.DataLoader has: the line above precedes it.
func ours(say phrase) phrase {
	return func(c stoker.Change) line {
		l := say(c)
		if l.call != "" {
			l.head = importing
		}
		return l
	}
}
