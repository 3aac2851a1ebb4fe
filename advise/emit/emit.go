// Package emit prints a plan's changes as lines to paste, in the dialect of the
// framework: PyTorch's DataLoader keywords, Hugging Face's TrainingArguments.
//
// It decides nothing: what to change and what it is worth comes from advise. A
// setting that a framework has no keyword for becomes a comment.
package emit

import (
	"fmt"
	"io"
	"strings"

	"stoker"
	"stoker/advise"
)

// Torch prints a fix as keywords of torch.utils.data.DataLoader, a comment per
// change.
func Torch(w io.Writer, fix advise.Fix) error {
	return write(w, fix, "DataLoader", map[stoker.Setting]string{
		stoker.NumWorkers: "num_workers", stoker.PrefetchFactor: "prefetch_factor", stoker.PinMemory: "pin_memory",
		stoker.PersistentWorkers: "persistent_workers", stoker.InOrder: "in_order", stoker.BatchSize: "batch_size",
		stoker.FastPixels: "fast", stoker.OnDevice: "normalize_on_device",
	})
}

// HF prints a fix as arguments of transformers.TrainingArguments.
func HF(w io.Writer, fix advise.Fix) error {
	return write(w, fix, "TrainingArguments", map[stoker.Setting]string{
		stoker.NumWorkers: "dataloader_num_workers", stoker.PrefetchFactor: "dataloader_prefetch_factor",
		stoker.PinMemory: "dataloader_pin_memory", stoker.PersistentWorkers: "dataloader_persistent_workers",
		stoker.BatchSize: "per_device_train_batch_size",
	})
}

func write(w io.Writer, fix advise.Fix, call string, keywords map[stoker.Setting]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n", fix.Name, worth(fix))
	var outside []stoker.Change
	inside := 0
	for _, c := range fix.Changes {
		keyword, known := keywords[c.Setting]
		if !known {
			outside = append(outside, c)
			continue
		}
		if inside++; inside == 1 {
			fmt.Fprintf(&b, "%s(\n    ...,  # what you pass today\n", call)
		}
		fmt.Fprintf(&b, "    %s=%s,  # %s\n", keyword, python(c.To), was(c))
	}
	if inside > 0 {
		b.WriteString(")\n")
	}
	for _, c := range outside {
		if c.Setting == stoker.LoaderKind && call == "TrainingArguments" {
			b.WriteString("# override Trainer.get_train_dataloader: return stoker.DataLoader(...) with the same arguments\n")
			continue
		}
		b.WriteString(elsewhere(c))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func worth(fix advise.Fix) string {
	s := fix.Forecast.Speedup
	if !s.Known() {
		return "worth unknown"
	}
	return fmt.Sprintf("predicted %.2fx faster (%.2f to %.2f)", s.Point, s.Low, s.High)
}

func was(c stoker.Change) string {
	if c.From == nil {
		return "not known before"
	}
	return "was " + python(c.From)
}

// elsewhere prints a change that is no keyword of the loader.
func elsewhere(c stoker.Change) string {
	switch c.Setting {
	case stoker.NonBlocking:
		return "batch = batch.to(device, non_blocking=True)  # needs pin_memory; Trainer and Lightning do this by themselves\n"
	case stoker.Cores:
		return fmt.Sprintf("# give the job %s cores (was %s): --cpus-per-task, docker --cpus, cgroup quota\n", python(c.To), python(c.From))
	case stoker.LoaderKind:
		return "from stoker import DataLoader  # in the place of torch.utils.data's, with the same arguments\n"
	case stoker.StorageKind:
		return "# keep the data set in memory or on a faster disk: copy it to local NVMe or /dev/shm before training\n"
	default:
		return fmt.Sprintf("# %s\n", c)
	}
}

// python prints a value as Python writes it.
func python(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return fmt.Sprintf("%q", v)
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}
