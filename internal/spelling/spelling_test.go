package spelling

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"pcie4", "pcie5", 1}, {"a100", "a10", 1}, {"ü", "u", 1}} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q to %q: %d and back %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
