package predict

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

func fleetOf(t *testing.T, gpu string, gpus, years, computes float64) (Fleet, Account) {
	t.Helper()
	row, known := hardware.FindGPU(gpu)
	if !known {
		t.Fatalf("no GPU %q", gpu)
	}
	f := Fleet{GPU: row, GPUs: gpus, Years: years, Computes: computes, Prices: PricesOf(row)}
	a, err := f.Solve()
	if err != nil {
		t.Fatal(err)
	}
	return f, a
}

// Published figures of fleets, none of which a constant was chosen on, lie inside.
func TestPublishedFleets(t *testing.T) {
	const hour, day = 3600, 24 * 3600
	_, llama := fleetOf(t, "h100-sxm", 16384, 1, 1)
	_, opt := fleetOf(t, "a100-80gb-sxm", 992, 1, 1)
	_, korea := fleetOf(t, "b200", 504, 1, 1)
	_, bloom := fleetOf(t, "a100-80gb-sxm", 384, 1082990/(384*hoursOfYear), 1)
	_, one := fleetOf(t, "a100-80gb-sxm", 1, hardware.UsefulLife, 1)
	for _, c := range []struct {
		what      string
		published float64
		ours      stoker.Interval
	}{
		{"419 failures of 16,384 H100 in 54 days, hours between (arXiv:2407.21783)", 54 * 24. / 419, perUnit(llama.MTBF, hour)},
		{"more than 90 % of the time trains there", 0.90, llama.Goodput},
		{"53 restarts of 992 A100 in 56 days (OPT-175B's logbook)", 56. / 53, perUnit(opt.MTBF, day)},
		{"10 failures of 504 B200 in 55 days (arXiv:2605.09370)", 55. / 10, perUnit(korea.MTBF, day)},
		{"1,082,990 hours of A100 took 689,842 kWh without the building (BLOOM, arXiv:2211.02001)", 689842, perUnit(bloom.KWh, hardware.PUE.Value)},
		{"318 kg CO2e of an A100 with its share of the machine (HotCarbon 2023)", 318, one.MakingKg},
		{
			"0.26 ml a prompt of 0.24 Wh, on site (Gemini, arXiv:2508.15734), litres/kWh", 0.26 / 0.24,
			perUnit(one.SiteLitres, one.KWh.Point/hardware.PUE.Value),
		},
	} {
		t.Logf("%s: %.4g, ours %.4g (%.4g to %.4g)", c.what, c.published, c.ours.Point, c.ours.Low, c.ours.High)
		if !c.ours.Contains(c.published) {
			t.Errorf("%s: %.4g is outside %v", c.what, c.published, c.ours)
		}
	}
}

func perUnit(i stoker.Interval, unit float64) stoker.Interval {
	return stoker.Interval{Low: i.Low / unit, Point: i.Point / unit, High: i.High / unit}
}

// The bill is what a person adds up by hand: rent by the hour, or a purchase and electricity.
func TestFleetBills(t *testing.T) {
	f, a := fleetOf(t, "h100-sxm", 8, 1, 0.4)
	hours := 8 * hoursOfYear
	if want := hours * f.GPU.Price.Value; math.Abs(a.Dollars.Point-want) > 1 || math.Abs(a.Idle.Point-0.6*want) > 1 {
		t.Errorf("$%v, $%v of it idle, by hand $%v and 60 %% of it", a.Dollars, a.Idle, want)
	}
	f.Purchase, f.Prices.KWh = 40000, 0.1
	bought, err := f.Solve()
	if err != nil {
		t.Fatal(err)
	}
	if want := 8*40000 + 0.1*bought.KWh.Point; math.Abs(bought.Dollars.Point-want) > 1 {
		t.Errorf("$%v, by hand $%v", bought.Dollars, want)
	}
	// 8 H100 that train draw 7.75 kW with their host, which was measured.
	f.Computes = 1
	if full, _ := f.Solve(); math.Abs(full.KWh.Point/f.Prices.PUE/hoursOfYear-7.75) > 0.1 {
		t.Errorf("%v kW, measured 7.75", full.KWh.Point/f.Prices.PUE/hoursOfYear)
	}
	if years := a.MakingKg.Point * hardware.UsefulLife; math.Abs(years-8*(1312./8+1300./8)) > 1 {
		t.Errorf("%v kg CO2e of making over all years", years)
	}
}

// What cannot be is refused with the flag.
func TestFleetsThatCannotBe(t *testing.T) {
	good, _ := fleetOf(t, "h100-sxm", 8, 1, 0.4)
	for name, change := range map[string]func(*Fleet){
		"--gpus":  func(f *Fleet) { f.GPUs = 0 },
		"--years": func(f *Fleet) { f.Years = 1000 },
		"--util":  func(f *Fleet) { f.Computes = 1.1 },
		"--buy":   func(f *Fleet) { f.Purchase = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := bad.Solve(); err == nil || err.Error()[:len(name)] != name {
			t.Errorf("%v, want one that begins with %s", err, name)
		}
	}
}
