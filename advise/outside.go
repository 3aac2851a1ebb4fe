package advise

// outside proposes what the class's own word says, where what holds the device back lies
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
