package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Fleet is a question: what GPUs cost over years, and how much of their time becomes work.
type Fleet struct {
	GPU         hardware.GPU
	GPUs, Years float64
	Computes    float64 // share of the time for which they compute while nothing is broken
	Prices      Prices  // GPUHour is the rent, KWh the price of electricity
	Purchase    float64 // dollars of a GPU with its share of machines and network; 0: rented

	// Of a job on all of them. Not set: as published.
	MTBF       stoker.Interval // seconds between failures
	Checkpoint stoker.Interval // seconds for which training stops to write one
	Restart    stoker.Interval // seconds from a failure until training continues
}

// Account is the answer.
type Account struct {
	Hours   float64         // of all GPUs
	Dollars stoker.Interval // rent or purchase, and electricity if it has a price
	PerHour stoker.Interval // dollars of an hour in which a GPU does work that lasts
	Idle    stoker.Interval // dollars of the hours in which GPUs do not compute

	MTBF    stoker.Interval // seconds between failures of the job
	Every   stoker.Interval // seconds between checkpoints, as they lose least
	Goodput stoker.Interval // share of the time that failures and checkpoints leave

	KWh         stoker.Interval // of GPUs and hosts, as the building pays it
	OperatingKg stoker.Interval // CO2e of electricity
	MakingKg    stoker.Interval // CO2e of making the machines, for these years
	SiteLitres  stoker.Interval // evaporated by cooling
	PlantLitres stoker.Interval // consumed by power plants
}

// What training usually loses to failures. All are judgement [J] except the likely restart: the
// median of 11 minutes of automatic restarts on 504 B200 (arXiv:2605.09370).
var (
	usualCheckpoint = stoker.Interval{Low: 2, Point: 10, High: 60}
	usualRestart    = stoker.Interval{Low: 5 * 60, Point: 11 * 60, High: 20 * 60}
)

const (
	hoursOfYear    = 365.25 * 24
	secondsOfDay   = 24 * 3600
	gpusOfMachine  = 8
	mostFleetGPUs  = 1e7
	mostFleetYears = 50

	// leastGoodput is the share of the time below which a job does no work worth a price. [J]
	leastGoodput = 1e-3
)

// Validate fails if a fleet cannot be.
func (f Fleet) Validate() error {
	switch {
	case !(f.GPUs >= 1 && f.GPUs <= mostFleetGPUs):
		return fmt.Errorf("--gpus is %v: expected 1 to %v", quantity.Count(f.GPUs), quantity.Count(mostFleetGPUs))
	case !(f.Years > 0 && f.Years <= mostFleetYears):
		return fmt.Errorf("--years is %v: expected more than 0 and at most %v", f.Years, mostFleetYears)
	case !(f.Computes > 0 && f.Computes <= 1):
		return fmt.Errorf("--util is %v: expected more than 0 and at most 1", f.Computes)
	case f.Purchase < 0:
		return fmt.Errorf("--buy is %v: expected dollars for a GPU, or nothing if it is rented", f.Purchase)
	}
	return f.Prices.Validate()
}

// Solve answers.
func (f Fleet) Solve() (Account, error) {
	if err := f.Validate(); err != nil {
		return Account{}, err
	}
	a := Account{Hours: f.GPUs * f.Years * hoursOfYear}
	f.addFailures(&a)
	if a.Goodput.Point <= leastGoodput {
		return a, fmt.Errorf("--mtbf: with a failure every %s no work lasts: expected a longer time, or a shorter --restart "+
			"and --checkpoint", quantity.AboutSeconds(a.MTBF.Point))
	}
	f.addEnergy(&a)
	paid := bounds.Scale(stoker.Exactly(a.Hours), knownPrice(f.Prices.GPUHour))
	if f.Purchase > 0 {
		paid = stoker.Exactly(f.Purchase * f.GPUs)
	}
	a.Dollars = paid
	if f.Prices.KWh > 0 {
		a.Dollars = bounds.Add(paid, bounds.Scale(a.KWh, f.Prices.KWh))
	}
	a.Idle = bounds.Scale(a.Dollars, 1-f.Computes)
	a.PerHour = bounds.Divide(a.Dollars, bounds.Scale(a.Goodput, a.Hours*f.Computes))
	return a, nil
}

// addFailures adds what failures leave.
func (f Fleet) addFailures(a *Account) {
	machines := math.Ceil(f.GPUs / gpusOfMachine)
	often := hardware.MachineFailures
	a.MTBF = orUsual(f.MTBF, stoker.Interval{
		Low: secondsOfDay / (often.High * machines), Point: secondsOfDay / (often.Likely * machines),
		High: secondsOfDay / (often.Low * machines),
	})
	write, restart := orUsual(f.Checkpoint, usualCheckpoint), orUsual(f.Restart, usualRestart)
	a.Every = bounds.Enclose(young(write.Low, a.MTBF.Low), young(write.Point, a.MTBF.Point),
		young(write.High, a.MTBF.High))
	rate := bounds.Divide(stoker.Exactly(1), a.MTBF)
	a.Goodput = bounds.InEachView(func(v bounds.View) float64 {
		write, mtbf := v.TakePart(write), 1/v.TakePart(rate)
		return math.Max(leastGoodput, goodput(write, young(write, mtbf), mtbf, v.TakePart(restart)))
	})
}

// addEnergy adds electricity, and what follows from it.
func (f Fleet) addEnergy(a *Account) {
	limit := f.GPU.PowerLimit.Value
	if !(limit > 0) {
		limit = math.NaN()
	}
	busy, host := asInterval(hardware.BusyPower, limit), asInterval(hardware.HostPower, limit)
	waiting := bounds.Scale(WaitingPower(f.GPU), 1-f.Computes)
	drawn := bounds.Add(bounds.Add(bounds.Scale(busy, f.Computes), waiting), host)
	machines := bounds.Scale(drawn, a.Hours/1000)
	a.KWh = bounds.Scale(machines, math.Max(1, f.Prices.PUE))
	a.OperatingKg = bounds.Scale(a.KWh, knownPrice(f.Prices.Grid)/1000)
	share := math.Min(1, f.Years/hardware.UsefulLife)
	made := bounds.Add(stoker.Exactly(f.GPU.BoardCarbon().Value), asInterval(hardware.HostCarbon, 1))
	a.MakingKg = bounds.Scale(made, f.GPUs*share)
	a.SiteLitres = bounds.Multiply(machines, asInterval(hardware.SiteWater, 1))
	a.PlantLitres = bounds.Multiply(a.KWh, asInterval(hardware.PlantWater, 1))
}

func asInterval(r hardware.Range, times float64) stoker.Interval {
	return bounds.Scale(stoker.Interval{Low: r.Low, Point: r.Likely, High: r.High}, times)
}

// orUsual returns an interval if it is set, else the usual one.
func orUsual(i, usual stoker.Interval) stoker.Interval {
	if bounds.IsSet(i) {
		return i
	}
	return usual
}

// Sources names where the account's figures come from.
func (f Fleet) Sources() []string {
	lines := []string{
		"power of a GPU that computes: " + hardware.BusyPower.Source, "power of hosts: " + hardware.HostPower.Source,
		"making: " + f.GPU.BoardCarbon().Source + "; host: " + hardware.HostCarbon.Source,
		"water: " + hardware.SiteWater.Source + "; plants: " + hardware.PlantWater.Source,
	}
	if !bounds.IsSet(f.MTBF) {
		lines = append(lines, "failures: "+hardware.MachineFailures.Source)
	}
	return append(lines, f.Prices.Source)
}
