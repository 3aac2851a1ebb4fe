package sqlite

import (
	"context"
	"fmt"
	"strings"
)

// Table is one real table.
type Table struct {
	Name    string
	Columns []string

	root  uint32
	rowid int // column that stands for the row's number, -1 none
}

// Column is the place of a column by its name, letters of either case; -1 without.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if strings.EqualFold(c, name) {
			return i
		}
	}
	return -1
}

// mostTables bounds a stranger's list; Nsight's has fewer than 200.
const mostTables = 10_000

// schema reads the table of tables, which begins on page 1.
func (f *File) schema() error {
	f.Tables = map[string]*Table{}
	list := &Table{Name: "sqlite_schema", Columns: []string{"type", "name", "tbl_name", "rootpage", "sql"}, root: 1, rowid: -1}
	n := 0
	damage, err := f.Scan(context.Background(), list, []int{0, 1, 3, 4}, func(r *Row) error {
		if n++; n > mostTables {
			return &FormatError{fmt.Sprintf("it lists more than %d tables", mostTables)}
		}
		root, ok := r.Int(2)
		if !ok || root < 2 || root > int64(f.pages) || string(r.Text(0)) != "table" {
			return nil // an index, a view, a trigger, a virtual table or one that lies behind the end of a cut file
		}
		t, ok := parseTable(string(r.Text(1)), string(r.Text(3)))
		if ok {
			t.root = uint32(root)
			f.Tables[t.Name] = t
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(f.Tables) == 0 && damage.Pages > 0 {
		return &FormatError{"its list of tables is damaged or encrypted"}
	}
	return nil
}

// parseTable reads the names of columns from CREATE TABLE. Tables without row
// numbers, whose rows lie in another kind of tree, are left out, and those with
// computed columns, which are not stored in order.
func parseTable(name, sql string) (*Table, bool) {
	p := &parser{text: sql}
	words := []string{}
	for {
		w := p.next()
		if w == "" {
			return nil, false // no columns: CREATE TABLE AS is stored with them
		}
		if w == "(" {
			break
		}
		words = append(words, strings.ToUpper(w))
	}
	if len(words) < 3 || words[0] != "CREATE" || words[1] != "TABLE" {
		return nil, false // CREATE VIRTUAL TABLE
	}
	t := &Table{Name: name, rowid: -1}
	for more := true; more; {
		more = t.definition(p)
		if len(t.Columns) > mostColumns {
			return nil, false
		}
	}
	for w := p.next(); w != ""; w = p.next() {
		if strings.EqualFold(w, "WITHOUT") {
			return nil, false
		}
	}
	return t, len(t.Columns) > 0 && !p.computed
}

// mostColumns is SQLite's own default limit.
const mostColumns = 2000

// definition reads one column, or one constraint of the table, up to the comma or
// the last bracket, and reports whether another one follows.
func (t *Table) definition(p *parser) bool {
	words, more := []string{}, false
	quoted := false
	for depth := 0; ; {
		w := p.next()
		if w == "" || w == ")" && depth == 0 {
			break
		}
		if w == "," && depth == 0 {
			more = true
			break
		}
		switch w {
		case "(":
			depth++
		case ")":
			depth--
		}
		if len(words) == 0 {
			quoted = p.quoted
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return more
	}
	if upper := strings.ToUpper(words[0]); !quoted {
		switch upper {
		case "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN":
			t.constraint(p, words)
			return more
		}
	}
	rest := strings.ToUpper(strings.Join(words[1:], " "))
	integer := strings.HasPrefix(rest+" ", "INTEGER ")
	if _, key, found := strings.Cut(rest, "PRIMARY KEY"); found && integer && !strings.HasPrefix(key, " DESC") {
		t.rowid = len(t.Columns) // such a column is not stored: it is the row's number
	}
	p.computed = p.computed || strings.Contains(rest, " AS (")
	p.integer = append(p.integer, integer)
	t.Columns = append(t.Columns, words[0])
	return more
}

// constraint finds PRIMARY KEY (column) behind the columns.
func (t *Table) constraint(p *parser, words []string) {
	text := strings.ToUpper(strings.Join(words, " "))
	_, key, found := strings.Cut(text, "PRIMARY KEY ( ")
	if !found || t.rowid >= 0 {
		return
	}
	name, _, _ := strings.Cut(key, " ")
	if c := t.Column(name); c >= 0 && p.integer[c] && strings.HasPrefix(key, name+" )") {
		t.rowid = c
	}
}

// parser cuts SQL into words, brackets and commas, without comments.
type parser struct {
	text   string
	at     int
	quoted bool // the last word stood in quotes

	integer  []bool // columns declared as INTEGER
	computed bool   // some column is computed
}

// next is the next word, "" at the end.
func (p *parser) next() string {
	p.skip()
	p.quoted = false
	if p.at >= len(p.text) {
		return ""
	}
	switch c := p.text[p.at]; c {
	case '(', ')', ',', ';':
		p.at++
		return string(c)
	case '"', '\'', '`', '[':
		return p.quote(c)
	}
	from := p.at
	for p.at < len(p.text) && !strings.ContainsRune("(),;\"'`[ \t\r\n\f", rune(p.text[p.at])) {
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) quote(c byte) string {
	p.quoted = true
	if c == '[' {
		c = ']'
	}
	from := p.at + 1
	for p.at = from; p.at < len(p.text); p.at++ {
		if p.text[p.at] != c {
			continue
		}
		if c == ']' || p.at+1 == len(p.text) || p.text[p.at+1] != c {
			break
		}
		p.at++
	}
	word := p.text[from:min(p.at, len(p.text))]
	p.at++
	if word == "" {
		return " " // not the end
	}
	return strings.ReplaceAll(word, string(c)+string(c), string(c))
}

// skip passes spaces and comments.
func (p *parser) skip() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.ContainsRune(" \t\r\n\f", rune(rest[0])):
			p.at++
		case strings.HasPrefix(rest, "--"):
			p.at += lineEnd(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			p.at += lineEnd(rest, "*/")
		default:
			return
		}
	}
}

func lineEnd(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}
