package predict

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

func TestIdle(t *testing.T) {
	g := hardware.GPU{IdlePower: hardware.Figure{Value: 54}, PowerLimit: hardware.Figure{Value: 400}}
	share := stoker.Exactly(0.5)
	w := Idle(g, share, 100, Prices{GPUHour: 2, KWh: math.NaN(), Grid: 400, PUE: 1.5})
	watts := 54 + (26+66)/2.0
	if w.GPUHours.Point != 50 || w.Dollars != stoker.Exactly(100) || !near(w.KWh.Point, 50*watts*1.5/1000, 1e-9) ||
		!near(w.KgCO2.Point, w.KWh.Point*0.4, 1e-9) {
		t.Errorf("%+v", w)
	}
	if !near(w.KWh.High, 50*120*1.5/1000, 1e-9) || !near(w.KWh.Low, 50*80*1.5/1000, 1e-9) {
		t.Errorf("energy from the idle device with a context to 30 %% of the limit: %+v", w.KWh)
	}
	own := Idle(g, share, 100, Prices{GPUHour: 2, KWh: 0.2, PUE: 1.5})
	if !near(own.Dollars.Point, 100+0.2*own.KWh.Point, 1e-9) || own.KgCO2.Known() {
		t.Errorf("electricity of its own: %+v", own)
	}
	for name, w := range map[string]Waste{
		"no prices": Idle(g, share, 1, Prices{}), "no row": Idle(hardware.GPU{}, share, 1, Prices{}),
		"no share": Idle(g, stoker.Unknown(), 1, Prices{GPUHour: 1}),
	} {
		if w.Dollars.Known() || w.KgCO2.Known() || len(w.Notes) == 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if w := Idle(g, share, 1, Prices{}); !w.KWh.Known() || !strings.Contains(w.Notes[0], "left out") {
		t.Errorf("energy of the device alone: %+v", w)
	}
}

// A device that waits draws no more than it may, and no less than idle.
func TestWaitingPower(t *testing.T) {
	for _, g := range hardware.Known.GPUs {
		w := WaitingPower(g)
		if !g.IdlePower.Known() {
			continue
		}
		if !(g.IdlePower.Value <= w.Low && w.Low <= w.Point && w.Point <= w.High && w.High <= g.PowerLimit.Value) {
			t.Errorf("%s: %+v of %v to %v W", g.Name, w, g.IdlePower.Value, g.PowerLimit.Value)
		}
	}
}

func TestPrices(t *testing.T) {
	p := PricesOf(gpu(t, "h100-sxm"))
	if err := p.Validate(); err != nil || !(p.GPUHour > 0.5 && p.GPUHour < 20) || !strings.Contains(p.Source, "$") {
		t.Errorf("%+v, %v", p, err)
	}
	if p := PricesOf(hardware.GPU{}); !math.IsNaN(p.GPUHour) {
		t.Errorf("a price for nothing: %+v", p)
	}
	for _, bad := range []Prices{{GPUHour: -1}, {KWh: -1}, {Grid: math.Inf(1)}, {PUE: 0.5}} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
