package stoker

import (
	"os"
	"regexp"
	"testing"
)

// Every setting with a name in the code is in the table once.
func TestEverySettingIsInTheTable(t *testing.T) {
	source, err := os.ReadFile("settings.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bSetting += "([a-z0-9_]+)"`).FindAllSubmatch(source, -1)
	if len(named) != len(table) {
		t.Errorf("%d settings are named, %d stand in the table", len(named), len(table))
	}
	for _, match := range named {
		name := Setting(match[1])
		if name.Title() == "" || name.Expects() == "" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

func TestSettingsCheckTheirValues(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		value   any
		valid   bool
	}{
		{NumWorkers, 0, true},
		{NumWorkers, 8.0, true},
		{NumWorkers, "2x", true},
		{NumWorkers, -1, false},
		{NumWorkers, 1.5, false},
		{NumWorkers, "many", false},
		{NumWorkers, "-2x", false},
		{NumWorkers, true, false},
		{NumWorkers, nil, false},
		{NumWorkers, 1e300, false},
		{PrefetchFactor, 0, false},
		{PinMemory, true, true},
		{PinMemory, 1, false},
		{PinMemory, "yes", false},
		{Cores, 2.5, true},
		{Cores, 0, false},
		{StorageKind, PageCache, true},
		{StorageKind, "floppy", false},
		{Compile, "default", true},
		{Compile, "fast", false},
		{LoaderKind, StokerLoader, true},
		{LoaderKind, "torch", false},
		{"warp_factor", 9, false},
	} {
		if err := c.setting.CheckValue(c.value); (err == nil) != c.valid {
			t.Errorf("%s=%v: %v", c.setting, c.value, err)
		}
	}
}

// An unknown value is called unknown, on both sides of a change.
func TestChangesInWords(t *testing.T) {
	for want, c := range map[string]Change{
		"num_workers 0 -> 4":       {Setting: NumWorkers, From: 0, To: 4},
		"num_workers unknown -> 4": {Setting: NumWorkers, To: 4},
		"num_workers 0 -> unknown": {Setting: NumWorkers, From: 0},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
