package advise

// outside proposes the class's own advice, if the device's limit is
// outside of the program and its worth has a bound: its clock, other programs on it.
func (a adviser) outside() (Fix, string) {
	class := a.verdict.Class
	if !(a.verdict.Most > 1) {
		return Fix{}, ""
	}
	return Fix{
		Name: string(class), Title: a.verdict.Do(), Forecast: a.atMost(a.verdict.Most), Effort: Machine,
		Risk: NoRisk,
	}, ""
}
