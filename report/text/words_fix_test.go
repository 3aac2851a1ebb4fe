package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

// A fix without a setting is described by its title, on the page and in JSON.
func TestFixInWords(t *testing.T) {
	run, err := recording.Open("../../testdata/cases/input-generator/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)
	plan := advise.Rank(run, v)
	if len(plan.Fixes) != 1 || len(plan.Fixes[0].Changes) > 0 {
		t.Fatalf("fixes %v", plan.Fixes)
	}
	var page, object bytes.Buffer
	if err := text.WritePlan(&page, run, v, plan, text.Style{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if err := wire.WriteVerdict(&object, run, v, plan); err != nil {
		t.Fatal(err)
	}
	if title := plan.Fixes[0].Title; !strings.Contains(page.String(), "1. "+title) || !strings.Contains(object.String(), `"title": "`+title) ||
		!strings.Contains(object.String(), `"changes": []`) {
		t.Errorf("%q is missing from\n%s\n%s", title, page.String(), object.String())
	}
}
