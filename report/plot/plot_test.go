package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/report/plot"
)

var textStyle = plot.Captions{Title: "A <title> & more", Source: "a \x1b[2J source " + strings.Repeat("of many words ", 100)}

// points has one that is unknown, one that does not fit and intervals with
// unknown ends.
func points(axes ...predict.Axis) (all []predict.Point) {
	second := []float64{math.NaN()}
	if len(axes) == 2 {
		second = axes[1].Values
	}
	for i, x := range axes[0].Values {
		for _, y := range second {
			u := 1 / (1 + float64(i))
			q := predict.Point{X: x, Y: y, Throughput: stoker.Interval{Low: math.NaN(), Point: 1000 * u, High: 1200 * u}, Utilization: stoker.Exactly(u), Bound: stoker.Worker, BoundStage: stoker.Prepare, Fits: predict.Yes}
			if i == 3 {
				q.Fits = predict.No
			}
			if i == 2 {
				q = predict.Point{X: x, Y: y, Throughput: stoker.Unknown(), Utilization: stoker.Unknown(), Fits: predict.Yes}
			}
			all = append(all, q)
		}
	}
	return all
}

func roofline() predict.Roofline {
	return predict.Roofline{
		GPU: hardware.GPU{Name: "device"}, Precision: hardware.FP16, Peak: 1e15,
		Diagonals: []predict.Diagonal{{Name: predict.DeviceMemory, Over: "device bytes", Rate: 3e12, Ridge: 333}, {Name: predict.HostLink, Rate: math.NaN(), Ridge: math.NaN()}},
		Points: []predict.Workpoint{
			{Name: "ResNet-50", Batch: 64, Device: 90, Copied: 4e4, Stored: math.Inf(1), Attained: stoker.Exactly(6e13), Delivered: stoker.Exactly(5e13)},
			{Name: "unknown", Device: math.NaN(), Copied: 0, Stored: -1, Attained: stoker.Unknown(), Delivered: stoker.Unknown()},
		},
	}
}

// pictures are all kinds, and their corners: one value, zero, many values.
func pictures() map[string]func(io.Writer) error {
	sweep := func(axes ...predict.Axis) func(io.Writer) error {
		return func(w io.Writer) error { return plot.WriteSweep(w, textStyle, axes, points(axes...)) }
	}
	many := make([]float64, 100)
	for i := range many {
		many[i] = float64(i)
	}
	batch := predict.Axis{Name: "batch", Values: []float64{32, 64, 128, 256, 512}}
	return map[string]func(io.Writer) error{
		"batch": sweep(batch), "one value": sweep(predict.Axis{Name: "storage", Values: []float64{2e9}}), "from zero": sweep(predict.Axis{Name: "workers", Values: many}),
		"two": sweep(batch, predict.Axis{Name: "workers", Values: []float64{0, 1, 2}}), "two, many": sweep(batch, predict.Axis{Name: "cached", Values: many[:2]}),
		"grid of many": sweep(predict.Axis{Name: "workers", Values: many}, predict.Axis{Name: "cores", Values: many[1:]}),
		"roofline":     func(w io.Writer) error { return plot.WriteRoofline(w, textStyle, roofline()) },
		"flame":        func(w io.Writer) error { return plot.Flame(w, textStyle, flames()) },
	}
}

// flames has names that XML would not take, and boxes too small to draw.
func flames() *flame.Node {
	root := &flame.Node{Name: "host threads", Time: 100_000}
	for i := range 30 {
		child := &flame.Node{Name: "<built-in & more>", Time: int64(1 + 100*i)}
		child.Children = []*flame.Node{{Name: "a/very/long/path/to/train.py(12): forward", Time: child.Time / 2}, {Name: "aten::mm", Time: 1}}
		root.Children = append(root.Children, child)
	}
	return root
}

// An SVG is well-formed, says its title, and holds no unknown as a number.
func TestSVGIsWellFormed(t *testing.T) {
	for name, draw := range pictures() {
		var b bytes.Buffer
		if err := draw(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, bad := range []string{"NaN", "Inf", "\x1b"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s: the SVG holds %q", name, bad)
			}
		}
		if !strings.Contains(b.String(), "<title>A &lt;title&gt; &amp; more</title>") {
			t.Errorf("%s: no title", name)
		}
		decoder := xml.NewDecoder(&b)
		elements := 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: not XML: %v", name, err)
			}
			if _, is := token.(xml.StartElement); is {
				elements++
			}
		}
		if elements < 20 {
			t.Errorf("%s: only %d elements", name, elements)
		}
	}
}

// The same input gives the same bytes.
func TestPicturesAreReproducible(t *testing.T) {
	for name, draw := range pictures() {
		var a, b bytes.Buffer
		if err := errors.Join(draw(&a), draw(&b)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two drawings differ", name)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	for name, err := range map[string]error{
		"no points":   plot.WriteSweep(io.Discard, textStyle, []predict.Axis{{Name: "batch", Values: []float64{1}}}, nil),
		"no axes":     plot.WriteSweep(io.Discard, textStyle, nil, make([]predict.Point, 1)),
		"wrong count": plot.WriteSweep(io.Discard, textStyle, []predict.Axis{{Name: "batch", Values: []float64{1, 2}}, {Name: "workers", Values: []float64{1}}}, make([]predict.Point, 1)),
		"too many":    plot.WriteSweep(io.Discard, textStyle, []predict.Axis{{Name: "batch", Values: []float64{1}}}, make([]predict.Point, 10_001)),
		"no time":     plot.Flame(io.Discard, textStyle, &flame.Node{}),
		"no peak":     plot.WriteRoofline(io.Discard, textStyle, predict.Roofline{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]bool{"a.svg": true, "b/C.SVG": true, "a.png": false, "svg": false, "": false} {
		if err := plot.CheckName(name); (err == nil) != want {
			t.Errorf("Check(%q) = %v", name, err)
		}
	}
}

// Nothing is drawn beyond the page, and the source is complete.
func TestPicturesStayOnThePage(t *testing.T) {
	number := regexp.MustCompile(` (x|y|width|height)="([-0-9.]+)"`)
	for name, draw := range pictures() {
		var b bytes.Buffer
		if err := draw(&b); err != nil {
			t.Fatal(err)
		}
		var wide, high float64
		if _, err := fmt.Sscanf(b.String()[strings.Index(b.String(), "viewBox"):], `viewBox="0 0 %f %f"`, &wide, &high); err != nil {
			t.Fatal(err)
		}
		for _, found := range number.FindAllStringSubmatch(b.String(), -1) {
			v, err := strconv.ParseFloat(found[2], 64)
			if limit := map[string]float64{"x": wide, "width": wide, "y": high, "height": high}[found[1]]; err != nil || v < 0 || v > limit {
				t.Errorf("%s: %s, the page is %v x %v", name, found[0], wide, high)
			}
		}
		if n := strings.Count(b.String(), "many"); n != 100 {
			t.Errorf("%s: %d of 100 words of the source", name, n)
		}
	}
}
