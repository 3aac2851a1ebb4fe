package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/language"
)

// trainingObject is the result of predict train: shares are of the step, memory is per GPU.
type trainingObject struct {
	Schema       int             `json:"schema"`
	Fit          string          `json:"fit"` // "fits", "likely does not fit"
	Time         stoker.Interval `json:"step_s"`
	TokenRate    stoker.Interval `json:"tokens_per_s_per_gpu"`
	MFU          stoker.Interval `json:"mfu"`
	Products     float64         `json:"products_share"`
	Attention    float64         `json:"attention_share"`
	Operators    float64         `json:"operators_share"`
	TensorLinks  float64         `json:"tensor_links_share"`
	ContextLinks float64         `json:"context_links_share"`
	ExpertLinks  float64         `json:"expert_links_share"`
	Bubble       float64         `json:"bubble_share"`
	Replicas     float64         `json:"replicas_share"`
	Optimizer    float64         `json:"optimizer_share"`
	Launches     float64         `json:"launches_share"`
	Memory       stoker.Interval `json:"memory_bytes"`
	State        stoker.Interval `json:"state_bytes"`
	Activations  string          `json:"activations"` // "keep", "selective", "recompute"
	Shard        string          `json:"shard"`       // "none", "zero1", "zero2", "zero3"
	Layout       layoutObject    `json:"layout"`
	Measured     *float64        `json:"measured_tokens_per_s_per_gpu"` // what --measured says
	subjectObject
}

// subjectObject is what was asked about, and what was assumed of it.
type subjectObject struct {
	Model     string   `json:"model"`
	GPU       string   `json:"gpu"`
	Precision string   `json:"precision"`
	Software  string   `json:"software"`
	Assumed   []string `json:"assumed"`
}

// layoutObject says how the job is divided over its GPUs.
type layoutObject struct {
	GPUs        float64 `json:"gpus"`
	Tensor      float64 `json:"tensor"`
	Pipeline    float64 `json:"pipeline"`
	Virtual     float64 `json:"virtual"` // stages of a rank
	Context     float64 `json:"context"`
	Expert      float64 `json:"expert"`
	MicroBatch  float64 `json:"micro_batch"`
	GlobalBatch float64 `json:"global_batch"`
}

// trainingSchema is one higher since the MFU became an interval and the parts of a step
// changed.
const trainingSchema = schema + 1

// WriteTraining writes the step of a language model as one object. measured is the measured rate in
// tokens/s per GPU, NaN if none is given.
func WriteTraining(
	w io.Writer, t language.Training, s language.TrainingStep, measured float64, assumed []string,
) error {
	return WriteObject(w, trainingObject{
		trainingSchema, string(s.Fit), s.Time, s.TokenRate, s.MFU, s.Products, s.Attention, s.Moved, s.TensorLinks,
		s.ContextLinks, s.ExpertLinks, s.Bubble, s.Replicas, s.Optimizer, s.Launches, s.Memory.Total, s.Memory.State,
		string(s.Activations), string(s.Shard),
		layoutObject{t.GPUs, t.Tensor, t.Pipeline, t.Virtual, t.Context, t.Expert, t.MicroBatch, t.GlobalBatch},
		stat.Known(measured),
		subjectObject{
			t.Model.Name, t.GPU.Name, string(t.Precision), string(t.Stack), append([]string{}, assumed...),
		},
	})
}

// servingObject is the result of predict serve: shares are of the time of a token.
type servingObject struct {
	Schema    int             `json:"schema"`
	Batch     float64         `json:"requests"`
	Prefill   stoker.Interval `json:"first_token_s"`
	PerToken  stoker.Interval `json:"each_token_s"`
	TokenRate stoker.Interval `json:"tokens_per_s"`
	Weights   float64         `json:"weights_share"`
	Cache     float64         `json:"cache_share"`
	Compute   float64         `json:"compute_share"`
	Messages  float64         `json:"links_share"`
	Launches  float64         `json:"launches_share"`
	Memory    float64         `json:"memory_bytes"`
	subjectObject
}

// WriteServing writes the rate at which a language model answers as one object.
func WriteServing(w io.Writer, s language.Serving, r language.ServingRate, assumed []string) error {
	return WriteObject(w, servingObject{
		schema, r.Batch, r.Prefill, r.PerToken, r.TokenRate, r.Weights, r.Cache, r.Compute, r.Messages, r.Launches,
		r.Memory,
		subjectObject{
			s.Model.Name, s.GPU.Name, string(s.Precision), string(s.Stack), append([]string{}, assumed...),
		},
	})
}
