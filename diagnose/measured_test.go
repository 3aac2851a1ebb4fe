package diagnose_test

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// TestFiguresHaveUnits holds that what is measured has a name, a unit and an origin, and that
// nothing unknown is listed.
func TestFiguresHaveUnits(t *testing.T) {
	c := diagnose.NewCase()
	if list := c.Figures(); len(list) != 1 || list[0].Name != "window" {
		t.Errorf("nothing was measured, and it lists %v", list)
	}
	c.Stall, c.StallSource, c.Idle, c.Util = 0.2, diagnose.DeviceEvents, 0.3, 0.7
	for _, f := range c.Figures() {
		if f.Name == "" || f.Unit == "" || f.Origin == "" {
			t.Errorf("a figure without name, unit or origin: %+v", f)
		}
	}
}
