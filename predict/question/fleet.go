package question

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// Fleet is the answer to predict fleet, which text, JSON and pages print.
type Fleet struct {
	Question predict.Fleet
	predict.Account
	Assumed []string
}

// FleetTexts are the flags of predict fleet, as they were typed.
type FleetTexts struct {
	Prices
	GPU, GPUs, Years, Util, Buy, MTBF, Checkpoint, Restart string
}

// Predict computes what the fleet costs over its years.
func (t FleetTexts) Predict(table hardware.Table, say func(format string, args ...any)) (Fleet, error) {
	q, err := t.readFleet(table, say)
	if err != nil {
		return Fleet{}, err
	}
	account, err := q.Solve()
	return Fleet{Question: q, Account: account, Assumed: t.nameAssumed(q)}, err
}

// readFleet parses the flags.
func (t FleetTexts) readFleet(table hardware.Table, say func(format string, args ...any)) (q predict.Fleet, err error) {
	switch {
	case t.GPU == "":
		return q, hint.Attach(errors.New("--gpu is missing: which GPU?"), "--gpu h100")
	case t.Util == "":
		return q, hint.Attach(errors.New("--util is missing: for which share of the time do they compute?"), "--util 40%")
	case t.Buy != "" && t.Price != "":
		return q, errors.New("--price is the rent and --buy a purchase: give one")
	}
	if q.GPU, err = FindGPU("gpu", t.GPU, table, say); err != nil {
		return q, err
	}
	gpus, err := ReadQuantity("gpus", t.GPUs, quantity.ParseCount)
	if err != nil {
		return q, err
	}
	years, err := ReadQuantity("years", t.Years, quantity.ParseNumber)
	if err != nil {
		return q, err
	}
	share, err := ReadQuantity("util", t.Util, quantity.ParseShare)
	if err != nil {
		return q, err
	}
	q.GPUs, q.Years, q.Computes = float64(gpus), float64(years), float64(share)
	if err := t.readFailures(&q); err != nil {
		return q, err
	}
	if q.Prices, err = t.Read(q.GPU, table); err != nil {
		return q, err
	}
	q.Purchase, err = t.readPurchase()
	return q, err
}

// readFailures parses the time between failures, and what a checkpoint and a restart cost.
func (t FleetTexts) readFailures(q *predict.Fleet) error {
	for _, one := range []struct {
		flag, text string
		into       *stoker.Interval
	}{
		{"mtbf", t.MTBF, &q.MTBF},
		{"checkpoint", t.Checkpoint, &q.Checkpoint},
		{"restart", t.Restart, &q.Restart},
	} {
		if one.text == "" {
			continue
		}
		v, err := ReadQuantity(one.flag, one.text, quantity.ParseSeconds)
		if err != nil {
			return err
		}
		*one.into = stoker.Exactly(float64(v))
	}
	return nil
}

// readPurchase reads the price of a bought GPU; 0 if it is rented.
func (t FleetTexts) readPurchase() (float64, error) {
	if t.Buy == "" {
		return 0, nil
	}
	text, thousands := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(t.Buy), "$"), "k")
	dollars, err := quantity.ParseNumber(text)
	if err != nil || dollars == 0 {
		return 0, fmt.Errorf("--buy %q: expected dollars for a GPU with its share of the machine, such as $45000", t.Buy)
	}
	if thousands {
		return 1000 * float64(dollars), nil
	}
	return float64(dollars), nil
}

// nameAssumed lists the usual values that stand for flags that were not given.
func (t FleetTexts) nameAssumed(q predict.Fleet) (words []string) {
	if t.MTBF == "" {
		words = append(words, "failures (--mtbf)")
	}
	switch {
	case t.Buy != "" && t.KWh == "":
		words = append(words, "free electricity (--kwh)")
	case t.Buy == "" && t.Price == "" && q.GPU.Price.Known():
		words = append(words, fmt.Sprintf("$%s/h (--price, --buy)", quantity.About(q.GPU.Price.Value)))
	}
	if t.Grid == "" {
		words = append(words, "the world's grid (--grid)")
	}
	return words
}
