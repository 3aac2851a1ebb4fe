package nsight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// readMetrics reads what was sampled of the GPUs (nsys profile --gpu-metrics-devices).
// "GR Active" is the share of time in which the graphics and compute engine had
// work: what NVML's utilisation means, at 10 kHz. The means of 10 ms are kept.
func (r *reader) readMetrics() error {
	if r.db.tables["GPU_METRICS"] == nil {
		return nil
	}
	wanted, others, err := r.metricNames()
	if err != nil {
		return err
	}
	sums := map[sample]runningMean{}
	err = r.scanColumns("GPU_METRICS", []string{"timestamp", "typeId", "metricId", "value"}, nil, func(row *row) error {
		at, ok := row.intAt(0)
		key := metric{readNumber(row, 1), readNumber(row, 2)}
		v := row.floatAt(3)
		if !ok || !wanted[key] || at < r.from || at >= r.to || !(v >= 0 && v <= 100) {
			return nil
		}
		s := sample{key.kind & 0xff, (at - r.base) / sampleTime}
		if m, found := sums[s]; found || len(sums) < mostSamples {
			sums[s] = runningMean{m.sum + v/100, m.n + 1}
		}
		return nil
	})
	r.writeSeries(sums)
	if len(others) > 0 {
		r.addWarning("Of the sampled GPU metrics, GR Active was read, %d others were left alone (%s, …).", len(others),
			others[0])
	}
	return err
}

const (
	sampleTime  = 10_000_000 // ns
	mostSamples = 1 << 18    // 40 minutes of one GPU
)

type (
	metric      struct{ kind, id int64 }
	sample      struct{ gpu, at int64 } // at counts sampleTime
	runningMean struct {
		sum float64
		n   int
	}
)

// metricNames finds the metrics that are wanted, and the names of the others.
func (r *reader) metricNames() (wanted map[metric]bool, others []string, err error) {
	wanted = map[metric]bool{}
	must := []string{"typeId", "metricId", "metricName"}
	err = r.scanColumns("TARGET_INFO_GPU_METRICS", must, nil, func(row *row) error {
		name := columns.CleanText(row.textAt(2), 60)
		if strings.HasPrefix(name, "GR Active") {
			wanted[metric{readNumber(row, 0), readNumber(row, 1)}] = true
		} else if len(others) < 1000 && !slices.Contains(others, name) {
			others = append(others, name)
		}
		return nil
	})
	return wanted, others, err
}

func (r *reader) writeSeries(sums map[sample]runningMean) {
	byGPU := map[int64][]int64{}
	for s := range sums {
		byGPU[s.gpu] = append(byGPU[s.gpu], s.at)
	}
	for gpu := range int64(256) {
		times := byGPU[gpu]
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		s := recording.Series{Signal: recording.GPUUtilisation, Subject: fmt.Sprintf("gpu/%d", gpu)}
		for _, at := range times {
			m := sums[sample{gpu, at}]
			s.T, s.V = append(s.T, (float64(at)+0.5)*sampleTime/1e9), append(s.V, m.sum/float64(m.n))
		}
		r.out.Series = append(r.out.Series, s)
	}
}
