package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/report"
)

// Patterns of errors about a flag's value: the flag at the beginning, the given value, an example
// of a correct one, or a list whose first item is the nearest or the most usual.
var (
	aboutFlag  = regexp.MustCompile(`^--([a-z][a-z-]*)\b`)
	givenValue = regexp.MustCompile(`^--[a-z-]+:? "?([^":,]*)`)
	exampleOf  = regexp.MustCompile(`such as (?:'([^']+)'|([^,;]+?)(?:[,;]|: | or | for |$))`)
	choicesOf  = regexp.MustCompile(`(?:nearest: |is not in the table: |expected one of |expected |known are )([\w.$%/-]+(?:(?:, | or )[\w.$%/-]+)*)`)
)

// findAnswer returns a corrected flag that can be pasted, from the text of an error about a flag;
// "" if the text has none.
func findAnswer(text string) string {
	flag := aboutFlag.FindStringSubmatch(text)
	if flag == nil {
		return ""
	}
	if found := exampleOf.FindStringSubmatch(text); found != nil {
		example := found[1] + found[2] // quoted or not
		if strings.HasPrefix(example, "--") {
			return example // the example is another flag
		}
		return "--" + flag[1] + " " + report.QuoteForShell(example)
	}
	list := choicesOf.FindStringSubmatch(text)
	if list == nil {
		return ""
	}
	choices := strings.Split(strings.ReplaceAll(list[1], " or ", ", "), ", ")
	choices = slices.DeleteFunc(choices, func(word string) bool { return word == "or" })
	if len(choices) < 2 && !strings.Contains(text, "nearest: ") {
		return "" // the sentence continues
	}
	answer := choices[0]
	if value := givenValue.FindStringSubmatch(text); value != nil {
		if near := hardware.Nearest(value[1], choices); len(near) > 0 {
			answer = near[0]
		}
	}
	return "--" + flag[1] + " " + report.QuoteForShell(answer)
}
