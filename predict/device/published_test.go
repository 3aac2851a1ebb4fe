package device

import (
	"strings"
	"testing"
)

// Every row of both tables is read, and has a source.
func TestPublishedTablesAreRead(t *testing.T) {
	steps := strings.Count(strings.TrimSpace(publishedTable), "\n")
	if len(published().evidence) != steps || steps < 700 {
		t.Errorf("%d of %d rows of published.csv are read", len(published().evidence), steps)
	}
	widths := 2 * 2 * len(levelNames)
	if rows := strings.Count(strings.TrimSpace(fittedTable), "\n"); len(published().efficient) != rows-widths {
		t.Errorf("%d of %d efficiencies in fitted.csv are read", len(published().efficient), rows-widths)
	}
}

// A row that cannot be is refused with its file and its line.
func TestPublishedTablesRefuse(t *testing.T) {
	const row = `resnet50,training,a100-80gb-sxm,fp16,eager,0,224,256,1,0.1,0.9,"somebody, 2022"`
	for _, c := range []struct{ from, to, want string }{
		{"resnet50", "resnet51", `published.csv:3: network "resnet51"`},
		{"training", "drawing", `published.csv:3: kind "drawing"`},
		{"a100-80gb-sxm", "a101", `published.csv:3: GPU "a101"`},
		{"fp16", "fp17", `published.csv:3: precision "fp17"`},
		{"eager", "lazy", `published.csv:3: software "lazy"`},
		{"256", "many", `published.csv:3: batch "many"`},
		{"256", "0", `published.csv:3: batch 0`},
		{"0.9", "1.9", `published.csv:3: weight 1, error 0.1, device 1.9`},
		{`"somebody, 2022"`, "", `published.csv:3: the source is missing`},
		{",0.9", "", `published.csv: record on line 3: wrong number of fields`},
	} {
		heading := strings.Join(publishedColumns, ",")
		text := strings.Join([]string{heading, row, strings.Replace(row, c.from, c.to, 1)}, "\n")
		if _, err := readKnowledge(fittedTable, text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.to, c.from, err, c.want)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"key,value", "name,value", `fitted.csv:1: the columns are ["name" "value"]`},
		{"architecture/ada,0.823", "architecture/ada,0", `fitted.csv:2: architecture/ada "0"`},
		{"architecture/ampere,", "architecture/ada,", `fitted.csv:3: architecture/ada occurs twice`},
		{"width/exact/training/launch", "width/exact/drawing/launch", `fitted.csv:96: kind "drawing"`},
		{"width/exact/training/launch", "width/exact/training/device", `fitted.csv:97: width "exact/training/device"`},
		{"width/exact/training/launch,0.62\n", "", `fitted.csv: width/exact/training is missing`},
		{fittedTable, "", `fitted.csv: EOF`},
	} {
		text := strings.Replace(fittedTable, c.from, c.to, 1)
		if _, err := readKnowledge(text, publishedTable); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.to, c.from, err, c.want)
		}
	}
}

func BenchmarkReadPublished(b *testing.B) {
	for b.Loop() {
		mustRead(fittedTable, publishedTable)
	}
}
