package picture

import (
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/internal/coretime"
)

func BenchmarkOpenCV(b *testing.B) {
	for _, op := range []string{
		`["swap"]`, `["cv_resize", 256, 256, 1]`, `["cv_resize", 256, 256, 2]`, `["cv_resize", 256, 256, 3]`,
		`["cv_gray"]`, `["cv_hsv"]`, `["cv_unhsv"]`, `["cv_lab"]`, `["cv_unlab"]`,
		`["cv_blur", [64, 128, 64], [64, 128, 64], 4, [3, 3, 0, 0]]`,
		`["cv_blur", [4, 13, 30, 51, 60, 51, 30, 13, 4], [4, 13, 30, 51, 60, 51, 30, 13, 4], 4, [9, 9, 0, 0]]`,
		`["cv_weigh", 0.7, 0.3, 0, [], []]`,
		`["cv_affine", 256, 256, [1.4, 0.2, -1.5, -0.3, 1.6, 4.25], 0, [0, 0, 0]]`,
	} {
		b.Run(op, func(b *testing.B) {
			p, err := Parse([]byte(`{"mode": "RGB", "size": [500, 375], "ops": [` + op + `]}`))
			if err != nil {
				b.Fatal(err)
			}
			w, out, pixels := NewWorker(decode.Limits{}), make([]byte, p.Output.Bytes()), drawn(500, 375, 3)
			begun := coretime.Used()
			for b.Loop() {
				if err := w.Run(p, Source{Pixels: pixels}, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(coretime.Used()-begun)/float64(b.N), "cpu-ns/op") // beside other work the clock tells nothing
		})
	}
}
