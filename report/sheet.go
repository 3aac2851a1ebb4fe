package report

// Sheet is a table with its texts. Text and the HTML page show the same rows.
type Sheet struct {
	Title string
	About string     // follows the title in text
	Says  string     // describes the table in a sentence, on the page
	Rows  [][]string // the first row is a heading
	Align string     // a letter per column: l or r
	Lines []string   // conclusions from the table
}

// NamesRows reports whether the last column names the rows, after columns of numbers.
func (s Sheet) NamesRows() bool {
	return s.Align != "" && s.Align[0] == 'r' && s.Align[len(s.Align)-1] == 'l'
}

// takeFirst returns the first elements of a list; all if most is 0.
func takeFirst[T any](all []T, most int) []T {
	if most > 0 {
		return all[:min(most, len(all))]
	}
	return all
}
