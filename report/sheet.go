package report

// Sheet is a table with what stands around it. Text and the HTML page show the same rows.
type Sheet struct {
	Title string
	About string     // follows the title in text
	Says  string     // what it shows, in a sentence: on the page
	Rows  [][]string // the first is a heading
	Align string     // a letter per column: l or r
	Lines []string   // what follows from it
}

// NamesRows reports whether the last column names the rows, behind numbers.
func (s Sheet) NamesRows() bool {
	return s.Align != "" && s.Align[0] == 'r' && s.Align[len(s.Align)-1] == 'l'
}

// takeFirst is the head of a list: all of it where most is 0.
func takeFirst[T any](all []T, most int) []T {
	if most > 0 {
		return all[:min(most, len(all))]
	}
	return all
}
