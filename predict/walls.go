package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/quantity"
)

// Wall is one limit that a training job runs into.
type Wall struct {
	// "memory", "dispatch", "ingestion", "transformation", "locality", "communication",
	// "checkpoint"
	Name  string          `json:"wall"`
	Share stoker.Interval `json:"share"` // Value over Limit
	Value stoker.Interval `json:"value"` // what the job needs or spends
	Limit stoker.Interval `json:"limit"` // what there is, or the measure
	Unit  string          `json:"unit"`  // of both: "bytes", "seconds", "bytes/s", "cores"
	Hit   bool            `json:"hit"`   // by the likely values: Share is above 1; of checkpoint: above a tenth
	Text  string          `json:"text"`  // in a sentence
}

// Cluster is what walls outside one machine need to know. A value of zero is not
// set.
type Cluster struct {
	Write    stoker.Interval // bytes/s that a checkpoint is written with, of all writers together
	Interval float64         // seconds between checkpoints; 0: Young's best where MTBF is known
	MTBF     float64         // seconds between failures of the whole job
	Restart  float64         // seconds from a failure until training continues; 0: restart
}

const (
	// restart is mlsysim's constant, read 2026-11.
	restart = 300

	// adamBytes is what a checkpoint holds per parameter: weights at 16 bits, and
	// master copy and two moments of Adam at 32 (mlsysim, Wall 19).
	adamBytes = 14
)

// Walls holds the setup against each wall that a training job can run into.
func (s Setup) Walls(c Cluster) ([]Wall, error) {
	p, err := s.compileChecked()
	if err != nil {
		return nil, err
	}
	if err := c.checkFields(); err != nil {
		return nil, err
	}
	sol := &solution{Setup: s, numbers: p}
	for v := range sol.t {
		sol.t[v] = p.partTimes(bounds.View(v), bounds.View(v))
	}
	walls := []Wall{
		sol.memoryWall(), sol.dispatchWall(), sol.ingestionWall(), sol.transformationWall(),
		sol.localityWall(),
	}
	if s.Load.Training {
		walls = append(walls, sol.communicationWall(), sol.checkpointWall(c))
	}
	return walls, nil
}

func (k Cluster) checkFields() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"checkpoint interval", k.Interval}, {"MTBF", k.MTBF}, {"restart", k.Restart}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %v: expected more than 0, or 0 if it is not set", f.name, f.value)
		}
	}
	if w := k.Write; bounds.IsSet(w) && !(w.Low > 0 && w.Low <= w.Point && w.Point <= w.High) || math.IsInf(w.High, 0) {
		return fmt.Errorf("checkpoint rate is %v: expected more than 0 bytes/s", w.Point)
	}
	return nil
}

// makeWall fills in the share and the sentence of an unknown one.
func makeWall(name, unit string, value, limit stoker.Interval, known string) Wall {
	w := Wall{Name: name, Unit: unit, Value: value, Limit: limit, Share: bounds.Divide(value, limit), Text: known}
	if !w.Share.Known() || math.IsInf(w.Share.Point, 0) {
		w.Share = stoker.Unknown()
	}
	w.Hit = w.Share.Point > 1
	if w.Share.Known() {
		return w
	}
	switch {
	case value.Known():
		w.Text = "what there is is unknown"
	case limit.Known():
		w.Text = "what is needed is unknown"
	default:
		w.Text = "unknown"
	}
	return w
}

func (c *solution) memoryWall() Wall {
	need, have := stoker.Exactly(c.memoryNeed()), stoker.Exactly(c.capacity)
	w := makeWall("memory", "bytes", need, have, fmt.Sprintf("batch %s needs at least %s of %s device memory",
		quantity.About(c.batch), quantity.AboutBytes(c.memoryNeed()), quantity.AboutBytes(c.capacity)))
	if w.Hit {
		w.Text += ": it does not fit"
	}
	return w
}

// dispatchWall compares what launching takes with what the device takes. The
// larger one decides, because launches run ahead: they are not added.
func (c *solution) dispatchWall() Wall {
	launch, device := stoker.Unknown(), stoker.Unknown()
	if c.curved {
		launch = bounds.InEachView(func(v bounds.View) float64 { return c.terms[v].Floor })
		device = bounds.InEachView(func(v bounds.View) float64 {
			return c.terms[v].Fixed + c.terms[v].PerSample*c.batch
		})
	}
	return makeWall("dispatch", "seconds", launch, device,
		fmt.Sprintf("launching takes %s of the host, the device %s for a batch: the longer one decides",
			quantity.AboutSeconds(launch.Point), quantity.AboutSeconds(device.Point)))
}

func (c *solution) ingestionWall() Wall {
	need := c.deviceDemand().Storage
	return makeWall("ingestion", "bytes/s", need, bounds.Given(c.Storage),
		fmt.Sprintf("the devices need %s of storage's %s", quantity.AboutRate(need.Point),
			quantity.AboutRate(bounds.Given(c.Storage).Point)))
}

func (c *solution) transformationWall() Wall {
	if bounds.IsSet(c.PrepareRate) {
		need, have := bounds.Scale(c.deviceDemand().Prepared, 1/c.gpus), c.PrepareRate
		return makeWall("transformation", "bytes/s", need, have,
			fmt.Sprintf("a device needs %s prepared of the workers' %s", quantity.AboutRate(need.Point),
				quantity.AboutRate(have.Point)))
	}
	need := c.deviceDemand().Cores
	w := makeWall("transformation", "cores", need, stoker.Exactly(c.cores[bounds.Likely]),
		fmt.Sprintf("the devices need %s cores to prepare samples, of %s", quantity.About(need.Point),
			quantity.About(c.cores[bounds.Likely])))
	if worker := c.t[bounds.Likely][onWorker]; w.Share.Known() && !w.Hit && worker > c.t[bounds.Likely][onCompute] {
		w.Text += ": enough, but too few workers use them"
	}
	return w
}

// localityWall returns the way from host memory to the device.
func (c *solution) localityWall() Wall {
	need, have := c.deviceDemand().Link, c.linkRate()
	kind := "pageable"
	if c.Pinned {
		kind = "pinned"
	}
	if c.hostLink().Reach == hardware.OneMemory {
		return makeWall("locality", "bytes/s", need, have, fmt.Sprintf(
			"a device needs %s of the %s (%s) at which batches are copied within the memory that it shares with "+
				"the host", quantity.AboutRate(need.Point), quantity.AboutRate(have.Point), kind))
	}
	return makeWall("locality", "bytes/s", need, have, fmt.Sprintf(
		"a device needs %s of its host link's %s (%s), and that rate is for memory and workers on the device's own "+
			"NUMA node, less from another", quantity.AboutRate(need.Point), quantity.AboutRate(have.Point), kind))
}

// communicationWall returns the exchange between ranks.
func (c *solution) communicationWall() Wall {
	exchange := bounds.InEachView(func(v bounds.View) float64 { return c.sync.Time(v, c.gpus) })
	ranks := c.rankCount()
	w := makeWall("communication", "seconds", exchange, c.partTime(onCompute),
		fmt.Sprintf("%s ranks exchange %s each per step in %s, and the step is about %s longer for it",
			quantity.About(ranks), quantity.AboutBytes(c.sync.Bytes[bounds.Likely]),
			quantity.AboutSeconds(exchange.Point), quantity.AboutSeconds(c.partTime(onSync).Point)))
	if ranks == 1 {
		w.Text = "one rank has nobody to exchange gradients with"
	}
	return w
}

func (c *solution) checkpointWall(k Cluster) Wall {
	bytes := c.Load.Workload.Params.Value * adamBytes
	if bytes == 0 {
		bytes = math.NaN()
	}
	return k.checkpointWall(bytes)
}

// Checkpoint returns what saving a state of that many bytes costs.
func (k Cluster) Checkpoint(bytes float64) (Wall, error) {
	if err := k.checkFields(); err != nil {
		return Wall{}, err
	}
	return k.checkpointWall(bytes), nil
}

func (k Cluster) checkpointWall(bytes float64) Wall {
	write := bounds.Divide(stoker.Exactly(bytes), bounds.Given(k.Write))
	every, how := k.Interval, "as set"
	if every == 0 && k.MTBF > 0 {
		every, how = young(write.Point, k.MTBF), "Young's best"
	}
	if every == 0 {
		every = math.NaN()
	}
	text := fmt.Sprintf("a checkpoint of %s takes %s to write, every %s (%s)", quantity.AboutBytes(bytes),
		quantity.AboutSeconds(write.Point), quantity.AboutSeconds(every), how)
	if k.MTBF > 0 {
		after := k.Restart
		if after == 0 {
			after = restart
		}
		text += fmt.Sprintf(", with a failure every %s goodput is %s %%", quantity.AboutSeconds(k.MTBF),
			quantity.About(100*goodput(write.Point, every, k.MTBF, after)))
	}
	w := makeWall("checkpoint", "seconds", write, stoker.Exactly(every), text)
	w.Hit = w.Share.Point > 0.1
	return w
}

// young returns the time between checkpoints that loses least: sqrt(2 x time to write
// x mean time between failures) (J. W. Young, 1974). Seconds.
func young(write, mtbf float64) float64 { return math.Sqrt(2 * write * mtbf) }

// goodput returns the share of time that goes into progress that lasts: less writing,
// less the half interval that a failure throws away, less starting again. 0 to 1.
func goodput(write, interval, mtbf, restart float64) float64 {
	g := 1 - write/interval - interval/(2*mtbf) - restart/mtbf
	if math.IsNaN(g) {
		return g
	}
	return min(1, max(0, g))
}
