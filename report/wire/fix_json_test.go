package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
)

// A fix says in JSON as well which DataLoader it is about.
func TestJSONSaysWhichLoader(t *testing.T) {
	text, err := json.Marshal(fixJSON(advise.Fix{Name: "num_workers", Where: "/work/main.py:37"}))
	if err != nil || !strings.Contains(string(text), `"where":"/work/main.py:37"`) {
		t.Fatal(err, string(text))
	}
	if text, _ := json.Marshal(fixJSON(advise.Fix{Name: "compile"})); strings.Contains(string(text), "where") {
		t.Errorf("of no loader: %s", text)
	}
}
