package redact

import (
	"strings"
	"sync"
)

// The words below are what a flag, a variable or an override may be made of for its value
// to be kept. A name passes if each of its words is here. Words that also name secrets
// (key, token, pass, pin, code, session, access, auth, user) must never be added:
// names with such a word that are harmless stand in harmlessNumbers and harmlessTexts.

// numberWords name quantities, switches and choices: numbers and known words are kept.
var numberWords = set(`
	accum accumulate accumulation accuracies acoustic across act activation activations active adam
	adamw adaptive adaptor add additional adlr affine after ag agc agg aggregate align alignfile
	alignment alignments alloc allow allowed allreduce along alpha alphas always amax ambiguous amp
	amsgrad amtrf anchor angle anneal annealing anomaly apex append application approx asg aspect
	assert assign async at atol attention attentions attentive attn auc augment augmented augs auroc
	auto autocast autograd autolog autoresume autoscale aux av average avg aware axis azure
	background backward backwards balance balanced balancer balancing bandwidth bar barebones
	barrier base batch batches batching batchnorm bb bbpe bceloss beam before begin benchmark beta
	betas better between bf bfloat bias bidirectional biencoder biggest bigquery binary bind binding
	bins bit bitext bits blanking bleu block blocks blocktime blr blstm blur bn bnb bool boost border
	bos bottleneck bound boundary bounds branch break broadcast bs bsz bt bucket bucketing buckets
	budget buf buffer buffers busbw bw bwd by byte bytes bz cache cached caching calc calculate
	calibrate call calls candidate candidates cap capacity caption captions cascade case causal ce
	center centroid cer cgroup ch chance channel channels chans character check chunk chunked chunks
	clamp class classes classifier clean cleanup clip clipping clm clock cls cluster clusters cmvn
	codebase coef coeff coefficient cohort col collate collator collect collective collectives color
	colour column columns combine communication comparison compilation compile compiled complete
	component components compress compressed compression compute concat concurrency cond condition
	conditional conditioning confidence confs connect consensus consistency consolidate consonant
	const constraints consumed consumption contain containing contains context contiguous continual
	continue contrast conv converge convergence convert cooldown coord coordinator copy core cores
	correct correction cosine cost count counts cov coverage cp cpu cpubind cpunodebind cpus cpuset
	create crf crop cropping crops cross ctx cuda cudnn cumprob cumulative curriculum cursor custom
	cut cutmix cutoff cutout cuts cvd cycle cycles cyclic dae dali damping day days dcn ddp debug dec
	decay decays decision decode decoding decoupled dedup deep deepspeed default defer deferred
	degree degrees delay delete deletion delta denoise denoiser denoising dense density dependencies
	depth depths depthwise dequantize dereference descriptors detach detector determinism
	deterministic detok device devices diff dilation dilations dim dims direction directions disable
	disabled discount discretization discriminator dispatcher dist distance distill distillation
	distribute distributed distribution div divisible divisor dmodel do docs document dora double
	down downcast download downsample draft drop dropout dropouts dry dryrun dtype dump dup duplicate
	dur durable duration durations during dynamic dynamo each early edge edges eigen ema emb embd
	embed embedder embedding embeddings emissions emotion emov empty emulate en enable enabled enc
	encoded encoders end energy english ensemble ensembles entropy envvars eod eos ep episode
	episodes epoch epochs eps epsilon equal equivariant erase erasing err error errors estimate eta
	etp eval evals evaluate evaluation evaluator every everything eviction evidence exact exchange
	exclusion exclusive execute execution exit expand expandable experimental expert experts explore
	explosion exponent export exps extra extract extractor factor factors fail fairness faiss fake
	fallback fan far fast fastspeech fasttext feat feature features fetch ffe ffn fft fid field
	fields fill filter filters fim final find fine finish finite fips first fix fixed flag flash flat
	flip float flow focus fold folds force forced forcing foreach forecast fork formatting forward fp
	fps fpu fr frac fraction fragment frame frames framework freeze freezing freq freqs frequency
	from frozen fsdp full fullgraph fully fused fuser fusion fw ga gamma gan gas gate gated gates
	gather gating gauss gaussian gb gbs gc gclip gcmvn gcp gdr geglu gelu gemm gen generate
	generation generations generator genetic global gloo gp gpe gpu gpubind gpus gqa grace grad
	gradient gradients grads gradscaler grained granularity graph graphs grayscale greater gres grid
	grounding group grouped groups growth gtp guidance guide guided gzip hack half halt handler hard
	harmonic hca head headdim heads heartbeat heatmaps height hessian heterogeneous heuristic hflip
	hidden highway hist histogram histograms history hold homogeneous hop horizon horizontal
	hour hours how hp hparams hsdp hsv hub hue hyp hyperthreads hypo hypos hypotheses hysteresis ib
	ict id idle ids idx ifname ignore image images imbalance img imgs imgsz impl implementation
	importance imports improvement imputation ims in inc include inclusion incr increment index
	indexer indices inertia infer inference inflight info init initial initialization inject inner
	inprocess ins insert inspector instance instances int integral intensity inter interaction
	interactions interactive interleave interleaving intermediate interop interp interpolation
	interval intervals into intra intraop invalid inversion invert ipa ipc isotropic item iter
	iteration iterations iters j jit jitter jitters job jobs join joined joint jpeg jsd kd keep kenlm
	kernel kernels keypoint kl km kmeans kmp knn kspmodel kv l lab label labels lag lagging lamb
	lambada lambda lamda landmark landmarks langevin langtok langtoks lars last latency latent
	latents lattice launch launches layer layerdrop layernorm layers lazy leak learned learning leave
	left legacy len length lengths lenpen lens level levels lid lids liger lightning lim limit
	limiter limits line linear lines link linseg list lm load loaded loader loaders loading local
	lock log logit logits logprobs long lookahead lookback loop loops lora loss losses low lower
	lowrank lr lrd ls machine machines macro main majority management manifold manual map mapping
	margin markers mask masked masking maskpredictor masks master match matching matmul matrix max
	maximum maxlen mb mbs mca mcd mcore mean mels mem membind memory merge merged mesh message
	messages meteor metric metrics mha micro microbatch microbatches mid middle milestones mimo min
	mincpus mini minibatch minimize minimum minlen minmax mins minutes missing mix mixed mixes mixing
	mixture mixup mkl mla mlm mlp mlx mm mmap mocha mock moco moe moment momentum monitor mono
	monolingual monotonic more morph mosaic mosesdecoder most motion mp mpi mps mpu ms msc mscale msd
	msec mu mul mult multi multiclass multigpu multihead multilabel multilang multimodal multinode
	multiple multiplier multiprocess multiprocessing multiscale multitask n naflex nan natural nb
	nbest nbins nccl ncores ncrops neck neftune neg negative negatives neighbor neighborhood
	neighbors neighbours nepochs nest nested nesterov net never new newlines next ngpu ngpus nhead
	nheads nic nice nin niter niters nlayer nlayers nms nn nnode nnodes no noaug node nodes noise
	nolocal non none nonlinear nonorm norm normalization normalize normals norms novel nproc nprocs
	ns nsample nshards nsockets nsp ntasks num numa numactl number nv nvme nw nwordssrc nwordstgt
	nworker nworkers ny object objective occlusion offload offset offsets omp on once online only
	ontology oom op opset opt optimize optimizer option optional options opts or order ordinal
	orientation orig original ortho otel otf other out outer over overfit overlap overlapping overlay
	override overrides oversampling oversubscribe overwrite p2p pack packed packing pad padding page
	paged pages pair pairs panic par parallel parallelism param parameter parameters params pars
	parsers part partial partition partitions patch patches patchify patience pattern patterns paused
	pca pct peak peft penalty penn per percent percentage perceptual perf perform period permutation
	permute persist persistent perturb perturbation pg phase phn phonemize physical pick pipe
	pipeline pivot pixel pixels place plane planes plateau plot plots plus pod point points poisson
	poly polygon pool pooler pooling pools port ports pos position positional positions positive post
	posterior postnet pow power pp ppl pq pre prec precise precision pred predict prediction
	predictions preds prefetch prefetcher prefill prefills prefix preload prenet prenorm prepare
	prepend preprocess preprocessing preservation preserve preset pretrain pretraining prev previous
	primary print prio prior priority priors prob probabilities probability probe probs proc process
	processes processor procs prod profile profiler profiling progress proj projection prompts prop
	propagate proportion proposal proposals prosody protocol prototypes proxies prune pruning pseudo
	psnr ptl pull punc push qk qkv qlora quality quant quantile quantization quantize quantized
	queries query queue quick quiet quota r ra radial radius ram rampup rand random randomize range
	rank ranking ranks rate rates ratio ratios ray rdma re read readers real reassignment recall
	recent recompute recon reconstruct reconstruction recount rect rectified recurrent recv recycle
	redirects reduce reduction redundant ref reference refine refiner refit refs reg regenerate
	region regional regression regularization regularizer rejected relation relations relative reload
	relu remain remap remat remode remote remove render rendering reorder rep reparam repeat repeated
	repeats replabel replace replacement replacing replay replica replicas replicate report reporting
	reprob reps repulsion request requests requeue required rerun res resample resampled rescale
	rescore rescoring reserve reset reshape reshard reshuffle residual residuals resize resolution
	resplit restart restarts restore resume resynthesized retain retries retrieval retrievals
	retriever retry return reuse reverse revision revive reward rho right rigid ring rl rms rmsnorm
	rng robust roi rois role roll rollout rollouts rope rotary rotate rotation rotations round rounds
	router routing rows rpc rtol run running runs rvad sacrebleu safe saliency same sample sampled
	sampler samplers samples sampling sanity saturation save saved saves saving sbatch scalar scale
	scaled scaler scales scaling scene scenes sched schedule scheduled scheduler scope score scores
	scoring scratch search sec second seconds seed seeding seeds seg segment segments select
	selection self semantic semi send sensitivity sent sentence sentences separate separator seq
	seqlen seqs sequence sequences sequential serialize serializer sgf shadow shape shard sharded
	sharding shards share shared sharpness shear shift shm short shorten shortest shots should show
	shuffle shuffled shutdown side sigma sigmas sigmoid signal signals sigterm sil silence silent sim
	similarity simplex simulate single sinkhorn size sizes sizing skeleton skip skipwords sleep slice
	slices slid slide slope slots slow slurm sm small smooth smoothing snapshot snapshots snr socket
	sockets soft softmax solver sort sorted sos sp space span sparse sparsity spatial speaker spec
	specific specs spectral spectrogram speculative speech speed spike spin spk spline split splits
	splitter spm spmd spread sq squared sr src ssm stabilize stable stack stacked stages standalone
	standard start starts stat state states stats std step steps stitch stochastic stop stopping
	storage stratify stream streaming streams strength strict stride strides strip stroke structure
	students style sub subepoch subsample subsampling subset subsets suggested sum summary
	sup super superpixel supervised support suppress surface surplus surrogate surround swa swap
	swiglu switch sym symbol symmetric symmetry sync syncbn synchronize synchronous synth synthesizer
	synthetic syrk sys t table tabular tail take target targets task tasks taskset tau tb te teacher
	ted tee telemetry temp temperature temporal tensor tensorboard tensorrt tensors term terminate
	termination test tests textgrid texture tf tflops tgt than thin this thread threads thresh
	threshold thresholds thresholdsrc thresholdtgt throughput thrust tie tied tile tiles time timeout
	timeouts timer timers times timestep timesteps timing tiny titles to tokenize tokenized tol
	tolerance top topk topology topp torch torchcompile torchelastic torchscript total tp tpu tpuvm
	tqdm tra trace tracing track trackio train trainable trainer training trainval trans transcribe
	transcript transcripts transfer transform transition transitions transport transpose tree trg
	trial trials tries trigger trim triton true trunc truncate truncated truncation trunk try tsz tt
	tta tunable tune tuner turn turns two uasr ub ubatch ucx uer uint uncertainty under underlying
	unfiltered unfreeze unified uniform unique unit units unk unlabeled unlocked unmasked unroll
	unrolled unsharded unsup unsupervised untie untied until unused upcycling update updates upper
	uppercase upsample upsampling uroman usage use using utterance vad vads val valid validate
	validation var variance variant vb vde vdir vec vectors velocity verbose verbosity version
	vertex vertical vflip vggblock video view views virtual vision visual vm vmz vocab vocoder volta
	volume vowel voxel voxels vpp wait waitk walk wall walltime warm warmstart warmup warp watch
	watchdog watt wave waveform waveforms waveglow wavelet wavs wd weight weighted weighting weights
	wfstlm when whiten whole width win window windows wise with within without wlid worker workers
	working workload world wrap write wsc x xformers xla xlm xsum xtimes xyz y yarn yaw yes z zero
	zeros zeroshot zerostage zloss zmq zone zoneout zoom
`)

// textWords name what has a name, a place a kind: an ordinary word path kept.
var textWords = set(`
	aa accelerator addr address affinity agent algo algorithm ann annotation annotations anns arch
	architecture archive arg args array articles artifact artifacts assets aug augmentation backbone
	backend baseline bench bin build builder cachedir callback callbacks cfg chdir checkpoint
	checkpointing checkpoints ckpt ckpts collection comm command comment comms conda conf config
	configs configuration console constraint container corpora corpus cpath criterion csv ctrl cu cwd
	data databin datadir dataloader dataloaders datamodule datapath dataset datasets datastore
	decoder decoders desc description dest destdir destination dict dictionary dir directories
	directory dirpath dirs disk display distro dl driver dst encoder encoding encodings endpoint
	engine entity entrypoint env envs eventlog example examples exclude exp experiment experiments
	ext extension extensions exts family fdir file filelist filename filenames filepath files
	filesystem finetune finetuned flavor fname folder folders format formats fpath fpaths function
	gin glob hf home host hostfile hostfiles hostname hosts hydra hypers identifier ifname
	imagefolder imagenet infile input inputs interface ip joblib jobname jobtype json kind kwargs
	lang langpairs langs language launcher layout ld lexicon lib library locale location logdir
	logfile logger loggers logging logs manifest manifests mapper mappings metadata method methods
	mixers mlflow mode model modelname models module modules mount mounts name names namespace
	nodefile nodelist nodename note notes onnx opt optim optimizers org outdir outfile output outputs
	package path paths plan platform plugin plugins policy postfix pretrained program project
	projects provider python pythonpath pythonunbuffered qos queue2 rdzv reader recipe record
	recording records registry release rendezvous repo reservation resource resources result results
	root rootdir rundir runner runtime schema scheme script scripts selector server service set sif
	site source sources srcdict srclang stage stderr stdout store strategy subdir suffix suite sweep
	symlink system tag tags tar taskname tempdir template testpref text tfrecord tgtdict tgtlang tmp
	tmpdir tokenizer tokenizers topic tracker trackers tracking trainpref trainset transformer
	transformers transforms truth tsv txt type types unbuffered unet uri url urls vae validpref
	valset venv visible vit vlm wandb wds webdataset wmode work workdir workspace world2 yaml
`)

// valueWords stand as words of their own on command lines: programs, verbs, models, data
// sets, optimizers, kinds of numbers.
var valueWords = set(`
	a1 a100 a2 a3 acc accelerate accumulation accuracy activate adabelief adadelta adafactor adagrad
	adam adamax adamw adan adapter ade ademamix agent albert alexnet all allenai alpaca amp any aot
	apollo app apply apptainer area arxiv asr audio audioset augmix auto autoaugment autotune ava
	avazu axolotl b200 bart base bash batchnorm bce beit benchmark bert best bf bfloat bicubic
	bigscience bilinear bin blip block bloom bookcorpus books both bpe btl byol c10d c4 cait
	captioning cased cat causal cc cd ce celeba char charades chat checkpoints cifar cityscapes
	classification classify clearml cli clip clone cnn coca coco codellama cola colossalai comet
	command commonvoice compact composer conda config configure conformer constant constantlr
	contrastive convert convnext convnextv cora core cores cosine cosineannealinglr
	cosineannealingwarmrestarts cosinelr cp cprofile cprofilev cpu criteo critical csv ctc cublas
	cuda cudagraphs curl cusparse cutmix cyclegan cyclic dash data datacomp datasets dcgan ddp
	deberta debug deeplab deeplabv deepseek deepspeed default deit densenet detail detect detection
	detectron detectron2 detr dev dice diffusers diffusion dino dinov dist distilbert distilled dit
	do docker doctor dolly dolma dora double dp dpo dynamo eager ebs echo efficient efficientformer
	efficientnet efficientnetv efs electra eleutherai enroot env ep epoch error etcd eva eval
	evaluate exclusive exec experiments exponential exponentiallr export facebook fairseq falcon
	false fashionmnist fast fasterrcnn fcn fcos feed ffhq file final finetune fineweb first fish fit
	flan flash flava flax float flux fn fnuz focal food fork forkserver fp fpn fsdp fsx ft full
	galore gan gat gcn gelu gemma gh200 giant gigaspeech git gloo glu glue gnn google googlenet gpfs
	gpt gpu gpus grad gradient granite greedy groupnorm grpo gru gsm gtx h100 h200 half hatch hccl
	hellaswag helm hf high highest hinge hip hmdb holdout home horovodrun hpu hrnet hsdp huber hubert
	huge huggingface hwthread hybrid ignore ilsvrc image imagenet imagenette images imagewoof img
	importtime in12k in1k in21k in22k inat inaturalist inc inception inductor inf info infonce init
	install instruct int inverse java jax job json julia kaiming keras kernprof kinetics kitti kl ksh
	kubectl l1 l2 l4 l40 l40s labels laion lamb lanczos larc large lars last latest launch layernorm
	lbfgs leaky length librilight librispeech libritts lightning linear linearlr lion litgpt llama
	llava lm logs loky longest lora loss low ls lstm lsun lustre lvis madgrad mae main make mamba map
	mask masked maskrcnn masks math max maxtext maxvit maxxvit mbart mean medium megatron mem meta
	mi250x mi300x microsoft min mini miou mish mistral mistralai mixed mixtral mixup mkdir mlflow mlp
	mmdet mmengine mmlu mmpretrain mnasnet mnist mnli mnt mobilenet mobilenetv moco momentum
	movielens mpi mpiexec mpirun mps mpt mrpc mse mstd mt multistep multisteplr muon mv mvit mxfp
	nadam nan nano nanogpt nccl ncu nearest nemo nemotron neox neptune ner nerf nf nfs nice nll
	nnunet no noam node nohup none normal not novograd npu nsys null numactl nuscenes nvfp nvidia
	nvtx oasst ob objects observe off offload ogbn olmo on onecycle onecyclelr ones openai openclip
	openimages openmpi openwebtext opt orthogonal osrt outputs overhead p100 paged papers pascal
	patch paxml pcie pdb pdm peft perl phi pile pip pipefail pipenv pix pixi places plateau pmi pmix
	pml podman poetry poly polylr polynomial pose pp ppo ppr predict prefix prepare pretrain
	processed products profile project projects pspnet public pvt py pytest pythia python pythonw
	pytorch qa qlora qnli qqp qwen ra radam rand randaugment random rank raw ray rcnn reddit
	redpajama reduce reducelronplateau regnet regnetx regnety relu requeue resnest resnet resnetv
	resnext restarts resume retinanet rich rlhf rm rmsnorm rmsprop rnn rnnt roberta rocm rprop rsync
	rtdetr rte rtx ruby run runpy runs rwkv rye sage salloc sam sbatch scatter schedulefree scp
	scratch sd sdpa sdxl segformer segment segmentation self sentencepiece serve set setarch setenv
	sft sgd sgdm sh shakespeare shampoo shard shards share shared sharegpt shuffle shufflenet siglip
	sigmoid silu simclr single singularity sitecustomize sleep slimpajama slot small smollm smooth so
	soap socket sockets softmax something sophia source spawn spy sqrt squad squeezenet srun srv ssd
	ssh sst ssv stabilityai stack starcoder start static stdbuf stderr stdout step steplr steps stl
	stoker storage stsb stylegan submit sudo sum summarization summary superglue svhn sweep swiglu
	swin swinv swish sxm t4 t5 ta tanh taskset tcp tensorboard tensorflow test text tf thread threads
	tiiuae time timeit timm tiny tinyllama tinystories tmp tokens top1 top5 torch torchrun torchtune
	torchvision tp tpu tqdm trace track train training transformer transformers translation
	trapezoidal triplet triton trivialaugment trl true tts tune ucc ucf ucx uint ul ultrachat
	ultrafeedback ultralytics unbuffer uncased unet unetr uniform unittest unset users usr uv v100
	vader vae val valid validate var vgg videomae videos vit voc voxceleb vqgan vqvae vs wandb warmup
	warn warning watch wav wavlm webtext wget whisper wide wiki wikipedia wikitext word wordpiece
	work worker workspace wsd xavier xccl xcit xformers xl xla xlnet xpu xs xxl yes yi yolo yolos
	yolov yolox zero zeros zsh
`)

// ambiguous are words that may stand by themselves, but in a name may be of people and
// what is theirs.
var ambiguous = set(`
	char command curl echo export git public set setenv share shared ssh sudo unset users wget word
`)

// harmlessNumbers and harmlessTexts are names with a word that elsewhere names secrets.
var (
	harmlessNumbers = set(`
		pin_memory no_pin_memory dataloader_pin_memory dataset_pin_memory use_pin_memory pin_mem no_pin_mem memory_pin persistent_pin
		eos_token_id bos_token_id pad_token_id unk_token_id mask_token_id image_token_id decoder_start_token_id image_token_len
		key_padding_mask sort_keys num_key_value_heads n_key_value_heads group_query_attention num_query_groups key_value_heads kv_channels
		early_stopping_patience keypoints num_keypoints keyframes num_keyframes one_pass num_passes passes n_passes
		ignore_keys missing_keys remove_unused_keys head_key_dim key_dim value_dim d_key d_value dim_key dim_value
		token_dropout token_dropping token_mixing token_merging token_length token_count num_token cls_token class_token distill_token
		cross_entropy_reduction multi_pass pass_at_k num_codebooks codebook_size num_codes codec`)
	harmlessTexts = set(`
		author authors image_key video_key text_key label_key  sort_key key_column pin_memory_device
		wandb_entity mlflow_experiment_name access_mode`)
)

// countsOf are the words before "tokens" and behind "tokens per" in names of counts.
var countsOf = set(`
	b batch budget completion context device eval generated global gpu image in input k length m max
	micro min n new num of output per prompt sample sec second seen special step target tokens total
	train val vision warmup
`)

// secretWords name secrets wherever they stand in a name, secretEnds as a word of . They
// only make Command stricter, as what on no list not kept; Text relies on them.
var (
	secretWords = []string{
		"token", "passw", "passphrase", "passcode", "pwd", "secret", "credential", "apikey", "accesskey", "privatekey",
		"authorization", "authentication",
		"cookie", "bearer", "signature", "jwt", "oauth", "webhook", "mnemonic", "sessionid", "connectionstring",
		"seedphrase", "seedword", "pincode", "securityanswer",
	}
	secretParts = set(`otp mfa totp hotp hmac nonce csrf xsrf psk cvv cvc ssn iban recovery creds cred credentials login session sid dsn salt tok`)
	secretEnds  = set(`key keys pass pw pin auth sig pat cert pem answer code codes phrase sas`)
)

// extensions of files whose names are kept where no folder stands before them.
var extensions = set(`
	arrow bash beton bin bpe bz2 cfg ckpt conf csv db def engine exe feather ffcv flac gguf gin gz h5
	hcl hdf5 html idx img ini ipynb jl jpeg jpg json jsonl km list lmdb log lst lua md mdb mds model
	mp4 npy npz onnx parquet pkl png prom pt pth py r rec safetensors sh sif so spm sqsh tar tfrecord
	tfrecords tgz toml tsv txt vocab wav webp whl xz yaml yml zip zsh zst
`)

// set is a set of words, which are split when it is first asked: most starts of the program ask none.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, w := range strings.Fields(words) {
			all[w] = true
		}
		return all
	})
}
