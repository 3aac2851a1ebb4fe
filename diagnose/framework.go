package diagnose

import "github.com/stoker-dev/stoker/recording"

// What other frameworks than PyTorch call the same cure: their files name no DataLoader
// and have no settings of PyTorch's. A finding without words here has no advice there.
const (
	tensorFlow = "TensorFlow"
	jax        = "JAX"
	xla        = "XLA" // whose program it is, the file does not tell
)

// cures are advice by finding and framework.
var cures = map[string]map[string]string{
	"data-loader-wait": {
		tensorFlow: "dataset.map(..., num_parallel_calls=tf.data.AUTOTUNE), and dataset.prefetch(tf.data.AUTOTUNE) as the last of the pipeline",
		jax:        "prepare batches in worker processes (grain, or another loader) and put the next one on the device while this one is computed: jax.device_put in a thread",
	},
	"host-work": {
		tensorFlow: "what prepares inputs belongs into the tf.data pipeline, behind prefetch; log and save every so many steps",
		jax:        "prepare inputs in worker processes, one step ahead; log and save every so many steps, or in another thread",
	},
	"launch-bound": {
		tensorFlow: "tf.function(jit_compile=True) around the step, steps_per_execution=8 in model.compile; or a larger batch, so that each launch has more work",
		jax:        "jax.jit around the whole step, jax.lax.scan over several steps; or a larger batch, so that each launch has more work",
	},
	"hidden-sync": {
		tensorFlow: "no .numpy(), float(loss) or print of a tensor within the step: read metrics every 50 steps",
		jax:        "no float(loss), np.asarray() or print of an array within the step: keep metrics on the device and read them every 50 steps",
	},
	"explicit-sync": {
		tensorFlow: "take the wait out of the step; to time a step, time many",
		jax:        "take block_until_ready() out of the step; to time a step, time many",
	},
	"pageable-copies": {
		tensorFlow: "dataset.apply(tf.data.experimental.prefetch_to_device(\"/gpu:0\"))",
		jax:        "jax.device_put of the next batch while this one is computed",
	},
	"serial-copies": {
		tensorFlow: "dataset.apply(tf.data.experimental.prefetch_to_device(\"/gpu:0\"))",
		jax:        "jax.device_put of the next batch while this one is computed",
	},
	"tiny-copies": {
		tensorFlow: "make constants within the compiled function; one array in the place of many small ones",
		jax:        "make constants within the compiled function; one array in the place of many small ones",
	},
	"pcie-limited": {
		tensorFlow: "send images as uint8 and normalise on the device (a quarter of float32)",
		jax:        "send images as uint8 and normalise on the device (a quarter of float32)",
	},
	"elementwise-chains": {
		tensorFlow: "tf.function(jit_compile=True)",
		jax:        "jax.jit around more of the step, so that XLA sees the chain as a whole",
	},
	"no-tensor-cores": {
		tensorFlow: `tf.keras.mixed_precision.set_global_policy("mixed_bfloat16"), or tf.config.experimental.enable_tensor_float_32_execution(True)`,
		jax:        `jax.config.update("jax_default_matmul_precision", "tensorfloat32"), or parameters and inputs in bfloat16`,
	},
	"small-grids": {
		tensorFlow: "a larger batch while memory lasts", jax: "a larger batch while memory lasts",
	},
	"allocator": {
		tensorFlow: "TF_GPU_ALLOCATOR=cuda_malloc_async", jax: "XLA_PYTHON_CLIENT_PREALLOCATE=true",
	},
	"garbage-collection": {
		tensorFlow: "gc.collect(); gc.freeze() before the loop, gc.disable() in it and gc.collect() every 100 steps",
		jax:        "gc.collect(); gc.freeze() before the loop, gc.disable() in it and gc.collect() every 100 steps",
	},
	"exposed-communication": {
		tensorFlow: "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true with jit_compile=True; gradients in 16 bit",
		jax:        "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true; gradients in 16 bit",
	},
	"unaligned-shapes": {
		tensorFlow: "pad hidden sizes, vocabulary and channels to a multiple of 64", jax: "pad hidden sizes, vocabulary and channels to a multiple of 64",
	},
}

// translated puts a finding into the words of the run's framework.
func translated(f Finding, framework string) Finding {
	if framework == "" {
		return f
	}
	if framework == xla {
		framework = jax
	}
	f.Settings, f.Advice = nil, cures[f.Name][framework]
	return f
}

// recordMore is how to record steps that can be judged, and stacks.
func recordMore(run *recording.Run) (steps, later, stacks string) {
	switch run.Facts.Software.Framework {
	case "":
		return "record five and more with torch.profiler.schedule(wait=1, warmup=2, active=5)",
			"record later steps with torch.profiler.schedule(wait=5, warmup=2, active=5)", "with_stack=True tells the line"
	case tensorFlow:
		return "profile five and more", "profile later steps", "tf.profiler.experimental.ProfilerOptions(python_tracer_level=1) tells the line"
	}
	return "profile five and more", "profile later steps", "jax.profiler.ProfileOptions with python_tracer_level = 1 tells the line"
}
