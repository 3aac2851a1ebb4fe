package kineto

import "testing"

// Each name of an argument leads to its row of the table, and stands in one row alone.
func TestArguments(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range arguments {
		for _, name := range a.names {
			if seen[name] {
				t.Errorf("%q stands in two rows", name)
			}
			seen[name] = true
		}
	}
	filled := 0
	for _, slot := range argumentSlots {
		if slot.form == nil {
			continue
		}
		filled++
		if !seen[slot.name] || formOf([]byte(slot.name)) == nil {
			t.Errorf("%q is in no row, or is not found", slot.name)
		}
	}
	if filled != len(seen) {
		t.Errorf("%d slots for %d names", filled, len(seen))
	}
	for _, name := range []string{"", "External  id", "Correlation ", "stream\x00"} {
		if formOf([]byte(name)) != nil {
			t.Errorf("%q is found", name)
		}
	}
}
