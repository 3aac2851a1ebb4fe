package report

import (
	"fmt"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
)

// DescribeFleet returns eight lines: the cost, its parts, and the figure that it depends on most.
func DescribeFleet(f question.Fleet) [][2]string {
	lines := [][2]string{
		{"cost", describeCost(f)},
		{"waits", dollars(f.Idle) + " of it"},
		{"goodput", fmt.Sprintf("%s, a failure every %s, a checkpoint every %s",
			quantity.Around(f.Goodput, quantity.Percent), span(f.MTBF.Point), span(f.Every.Point))},
	}
	if f.KWh.Known() {
		lines = append(lines, [][2]string{
			{"electricity", thousands(f.KWh) + " MWh with hosts and building"},
			{"carbon", thousands(f.OperatingKg) + " t CO2e of electricity, " + thousands(f.MakingKg) + " t of making"},
			{"water", thousands(f.SiteLitres) + " m3 on site, " + thousands(f.PlantLitres) + " m3 at power plants"},
		}...)
	} else {
		lines = append(lines, [2]string{
			"electricity", "unknown: no power limit of this GPU is in the table (--hardware)",
		})
	}
	lines = append(lines, [2]string{"decides", describeLosses(f)})
	if len(f.Assumed) > 0 {
		lines = append(lines, [2]string{"assumed", strings.Join(f.Assumed, ", ")})
	}
	return lines
}

func describeCost(f question.Fleet) string {
	if !f.Dollars.Known() {
		return "unknown: say what a GPU costs (--price or --buy)"
	}
	how := "rented"
	if f.Question.Purchase > 0 {
		how = "bought"
	}
	return fmt.Sprintf("%s %s, %s for an hour of a GPU's work", dollars(f.Dollars), how, dollars(f.PerHour))
}

// describeLosses says what keeps paid hours from becoming work, the larger part first.
func describeLosses(f question.Fleet) string {
	waits, fails := 1-f.Question.Computes, f.Question.Computes*(1-f.Goodput.Point)
	losses := []string{
		"waiting takes " + quantity.Percent(waits) + " of the hours (--util)",
		"failures take " + quantity.Percent(fails) + " (--mtbf)",
	}
	if fails > waits {
		losses[0], losses[1] = losses[1], losses[0]
	}
	return strings.Join(losses, ", ")
}

// span prints a time that may be long.
func span(seconds float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"days", 86400}, {"h", 3600}, {"min", 60}} {
		if seconds >= 2*unit.seconds {
			return quantity.About(quantity.Digits(seconds/unit.seconds, 3)) + " " + unit.name
		}
	}
	return quantity.AboutSeconds(seconds)
}

func dollars(i stoker.Interval) string { return quantity.Around(i, quantity.AboutDollars) }

// thousands prints kWh as MWh, kilograms as tonnes, and litres as cubic metres.
func thousands(i stoker.Interval) string {
	return quantity.Around(i, func(v float64) string { return quantity.About(v / 1000) })
}
