package diagnose

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// mostItems is how many slow samples a sentence names.
const mostItems = 5

// SaySlowItems names the samples that slow fetches have in common.
func SaySlowItems(slow recording.SlowItems, dataset string) string {
	var names []string
	for _, item := range slow.Items[:min(mostItems, len(slow.Items))] {
		names = append(names, fmt.Sprint(item))
	}
	noun, are := "item", "is"
	if len(names) > 1 {
		noun, are = "items", "are"
	}
	text := fmt.Sprintf("%s %s of %s %s in %d of the %d slowest fetches (up to %s)", noun, strings.Join(names, ", "), dataset, are,
		slow.With, slow.Fetches, quantity.AboutSeconds(slow.Seconds))
	if more := len(slow.Items) - len(names); more > 0 {
		text += fmt.Sprintf(", as %d more are", more)
	}
	return text
}
