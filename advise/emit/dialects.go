package emit

import (
	"maps"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// The calls that take settings as keywords.
const (
	dataLoader        = "DataLoader"
	trainingArguments = "TrainingArguments"
	trainer           = "Trainer"
)

// modes are what torch.compile knows.
var modes = []string{"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}

// loader are the settings of torch.utils.data.DataLoader, and of stoker's.
var loader = dialect{
	stoker.NumWorkers:        keyword(dataLoader, "num_workers", countForm(0)),
	stoker.PrefetchFactor:    keyword(dataLoader, "prefetch_factor", countForm(1)),
	stoker.PinMemory:         keyword(dataLoader, "pin_memory", pythonBool),
	stoker.PersistentWorkers: keyword(dataLoader, "persistent_workers", pythonBool),
	stoker.InOrder:           keyword(dataLoader, "in_order", pythonBool),
	stoker.BatchSize:         keyword(dataLoader, "batch_size", countForm(1)),
	stoker.OnDevice: ours(chooseLine(map[string]line{
		"True":  {call: dataLoader, text: `device="cuda", normalize_on_device=True`},
		"False": {call: dataLoader, text: "normalize_on_device=False"},
	})),
	stoker.LoaderKind: chooseLine(map[string]line{`"` + stoker.StokerLoader + `"`: {head: importing}}),
}

// anywhere are the settings that no framework takes as an argument.
var anywhere = dialect{
	stoker.StorageKind: remark(
		"keep the data set in memory or on a faster disk: copy it to local NVMe or /dev/shm before training",
		name("page cache")),
	stoker.Cores:     remark("the job needs %s cores", countForm(1)),
	stoker.Split:     chooseLine(map[string]line{`"` + string(recording.SplitByItself) + `"`: {head: splitting}}),
	stoker.Shards:    remark("deal the data set out in %s shards of about the same size: a worker reads whole ones", countForm(1)),
	stoker.ComputeOn: remark(`compute on the GPU: model.to("cuda"), and each batch`, name("cuda")),
	stoker.Device:    remark("train on a %s", pythonString),
	stoker.FusedOptimizer: remark(
		"one kernel for all parameters: fused=%s in the arguments of the optimizer (Adam, AdamW, SGD, Adagrad)",
		pythonBool),
	stoker.SideStream: remark(
		"copy the next batch on a stream of its own (torch.cuda.Stream) while this one is computed", yes),
	stoker.MergeCopies: remark("copy small tensors together: one pinned buffer, one .to(device)", yes),
	stoker.TF32: chooseLine(map[string]line{
		"True":  {text: `torch.set_float32_matmul_precision("high")  # TF32: three decimal digits in products`},
		"False": {text: `torch.set_float32_matmul_precision("highest")`},
	}),
	stoker.Compile: statement("model = torch.compile(model, mode=%s)", name(modes...)),
	stoker.CUDAGraphs: chooseLine(
		map[string]line{"True": {text: "model = torch.cuda.make_graphed_callables(model, (sample,))  " +
			"# sample: a batch on the device, of the shape of all batches"}}),
	stoker.Allocator: statement("import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = %s  # before torch is imported",
		name("expandable_segments:True", "expandable_segments:False")),
	stoker.ManualGC: remark(
		"collect garbage every %s steps, on all ranks in the same: gc.disable(), and gc.collect() in a callback",
		countForm(1)),
}

// splitting lets each worker read its own part. It comes before there are more workers.
const splitting = `from torch.utils.data import get_worker_info
def own_part(parts):  # in __iter__ of the data set: for part in own_part(self.files), or over line numbers, or ranges
    info = get_worker_info()
    return parts if info is None else parts[info.id::info.num_workers]`

// yes is a setting that is there or not.
func yes(c stoker.Change) (string, bool) { return "", c.To == true }

// torch is a loop of one's own, with the names that such loops have.
var torch = mergeDialects(loader, anywhere, dialect{
	stoker.NonBlocking: chooseLine(
		map[string]line{"True": {text: "batch = batch.to(device, non_blocking=True)  # each tensor of it, needs pin_memory"}}),
	stoker.Precision: chooseLine(map[string]line{
		`"bf16"`: {text: "autocast = torch.autocast(\"cuda\", dtype=torch.bfloat16)  # with autocast: around the " +
			"forward pass and the loss"},
		`"fp16"`: {text: "autocast = torch.autocast(\"cuda\", dtype=torch.float16)  # with autocast: around the " +
			"forward pass and the loss\nscaler = torch.amp.GradScaler(\"cuda\")  " +
			"# scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()"},
	}),
	stoker.BucketMB: statement(
		"model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=%s)  # with what else you pass today",
		countForm(1)),
	stoker.ManualGC: statement(
		"import gc\ngc.disable()  # before the loop\nif step % %s == 0: gc.collect()  # in it, on all ranks in the same step", countForm(1)),
	stoker.SyncEvery: statement(
		"if step % %s == 0: print(loss.item())  # and nothing is read of the device in the steps between",
		countForm(1)),
	stoker.Accumulation: statement(
		"loss = loss / %s  # before backward()\nif (step + 1) % %s == 0: optimizer.step(); optimizer.zero_grad()  # "+
			"with DistributedDataParallel the others in model.no_sync()", countForm(1)),
})

// huggingFace is transformers.TrainingArguments, by the names of release 5.
var huggingFace = mergeDialects(anywhere, dialect{
	stoker.NumWorkers:        keyword(trainingArguments, "dataloader_num_workers", countForm(0)),
	stoker.PrefetchFactor:    keyword(trainingArguments, "dataloader_prefetch_factor", countForm(1)),
	stoker.PinMemory:         keyword(trainingArguments, "dataloader_pin_memory", pythonBool),
	stoker.PersistentWorkers: keyword(trainingArguments, "dataloader_persistent_workers", pythonBool),
	stoker.BatchSize:         keyword(trainingArguments, "per_device_train_batch_size", countForm(1)),
	stoker.Accumulation:      keyword(trainingArguments, "gradient_accumulation_steps", countForm(1)),
	stoker.BucketMB:          keyword(trainingArguments, "ddp_bucket_cap_mb", countForm(1)),
	stoker.TF32:              keyword(trainingArguments, "tf32", pythonBool),
	stoker.Precision: chooseLine(map[string]line{
		`"bf16"`: {call: trainingArguments, text: "bf16=True"},
		`"fp16"`: {call: trainingArguments, text: "fp16=True"},
	}),
	stoker.Compile:    keyword(trainingArguments, "torch_compile=True, torch_compile_mode", name(modes...)),
	stoker.CUDAGraphs: remark("capture the model's blocks as CUDA graphs: torch.cuda.make_graphed_callables(block, (sample,))", yes),
	stoker.FusedOptimizer: chooseLine(map[string]line{"True": {
		call: trainingArguments,
		text: `optim="adamw_torch_fused"`,
	}}),
	// Without logging_nan_inf_filter=False the Trainer reads the loss in every step.
	stoker.SyncEvery: keyword(trainingArguments, "logging_nan_inf_filter=False, logging_steps", countForm(1)),
	stoker.NonBlocking: chooseLine(map[string]line{
		"True":  {call: trainingArguments, text: `accelerator_config={"non_blocking": True}`},
		"False": {call: trainingArguments, text: `accelerator_config={"non_blocking": False}`},
	}),
	stoker.InOrder: remark("override Trainer.get_train_dataloader: in_order=%s in the DataLoader that it returns",
		pythonBool),
	stoker.LoaderKind: remark(
		"override Trainer.get_train_dataloader: return stoker.DataLoader(...) with the same arguments",
		name(stoker.StokerLoader)),
	stoker.OnDevice: remark("normalize_on_device=%s in the stoker.DataLoader that get_train_dataloader returns",
		pythonBool),
})

// ofTrainingArguments names the arguments of transformers.TrainingArguments that decide what a row of
// the run's time takes, or that take a finding away.
var ofTrainingArguments = map[string]string{
	string(diagnose.RowEvaluation): "eval_steps, per_device_eval_batch_size, dataloader_num_workers and " +
		"prediction_loss_only in TrainingArguments",
	string(diagnose.RowCheckpoint): "save_steps and save_only_model=True (no optimizer state) in TrainingArguments",
	string(diagnose.RowBetween):    "logging_steps and report_to in TrainingArguments, if a logger takes the time",
	diagnose.FindingPadding: `data_collator=DataCollatorWithPadding(tokenizer) in Trainer, and for samples of like length ` +
		`train_sampling_strategy="group_by_length" in TrainingArguments, which gives the optimizer other batches`,
	diagnose.FindingOptimizerLaunches: `optim="adamw_torch_fused" in TrainingArguments, if it is AdamW`,
}

// ofLightning names those of lightning.Trainer and its callbacks.
var ofLightning = map[string]string{
	string(diagnose.RowEvaluation): "check_val_every_n_epoch, val_check_interval and limit_val_batches in Trainer, and the " +
		"workers of val_dataloader",
	string(diagnose.RowCheckpoint): "every_n_train_steps and save_weights_only=True in ModelCheckpoint",
	string(diagnose.RowBetween):    "log_every_n_steps in Trainer, if a logger takes the time",
}

// lightning is lightning.Trainer, and the DataLoader that train_dataloader returns.
var lightning = mergeDialects(loader, anywhere, dialect{
	stoker.Accumulation: keyword(trainer, "accumulate_grad_batches", countForm(1)),
	stoker.SyncEvery:    keyword(trainer, "log_every_n_steps", countForm(1)),
	stoker.Precision: chooseLine(map[string]line{
		`"bf16"`: {call: trainer, text: `precision="bf16-mixed"`},
		`"fp16"`: {call: trainer, text: `precision="16-mixed"`},
	}),
	stoker.BucketMB: func(c stoker.Change) line {
		l := keyword(trainer, "strategy", countForm(1))(c)
		if l.call != "" {
			n, _ := countForm(1)(c)
			l.head, l.text =
				"from lightning.pytorch.strategies import DDPStrategy", "strategy=DDPStrategy(bucket_cap_mb="+n+")"
		}
		return l
	},
	stoker.NonBlocking: remark("Lightning copies pinned batches without blocking by itself", yes),
})

// mergeDialects returns the union of dialects. Later ones override earlier ones.
func mergeDialects(all ...dialect) dialect {
	sum := dialect{}
	for _, d := range all {
		maps.Copy(sum, d)
	}
	return sum
}
