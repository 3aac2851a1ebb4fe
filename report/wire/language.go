package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/language"
)

// trainingObject is what predict train says: shares are of the step.
type trainingObject struct {
	Schema      int             `json:"schema"`
	Time        stoker.Interval `json:"step_s"`
	TokenRate   stoker.Interval `json:"tokens_per_s_per_gpu"`
	MFU         float64         `json:"mfu"`
	Compute     float64         `json:"compute_share"`
	TensorLinks float64         `json:"tensor_links_share"`
	ExpertLinks float64         `json:"expert_links_share"`
	Bubble      float64         `json:"bubble_share"`
	Gradients   float64         `json:"gradients_share"`
	State       float64         `json:"state_bytes"`
}

// WriteTraining writes the step of a language model as one object.
func WriteTraining(w io.Writer, s language.TrainingStep) error {
	return WriteObject(w, trainingObject{
		schema, s.Time, s.TokenRate, s.MFU, s.Compute, s.TensorLinks, s.ExpertLinks, s.Bubble, s.Gradients, s.State,
	})
}

// servingObject is what predict serve says: shares are of the time of a token.
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
}

// WriteServing writes the rate of a language model that answers as one object.
func WriteServing(w io.Writer, r language.ServingRate) error {
	return WriteObject(w, servingObject{
		schema, r.Batch, r.Prefill, r.PerToken, r.TokenRate, r.Weights, r.Cache, r.Compute, r.Messages, r.Launches,
		r.Memory,
	})
}
