package text

import (
	"fmt"
	"io"

	"github.com/stoker-dev/stoker/diagnose"
)

// WriteWords prints everything that a verdict can say, and what to do about it.
func WriteWords(w io.Writer, style Style) error {
	p := newPage(style)
	for _, list := range []struct {
		title string
		words []diagnose.Word
	}{
		{"Classes", diagnose.Classes},
		{"Findings, which stand beside a class", diagnose.Findings},
		{"Causes of idle time, from a trace", diagnose.GapCauses},
	} {
		fmt.Fprintf(&p.b, "%s\n", p.makeBold(list.title))
		for _, word := range list.words {
			fmt.Fprintf(&p.b, "  %s\n", p.makeBold(word.Name))
			p.printWrapped("      ", "      ", word.Says)
			if word.Do != "" {
				p.printWrapped("      -> ", "         ", word.Do)
			}
		}
		p.b.WriteString("\n")
	}
	return p.to(w)
}
