package observe

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"python train.py --lr 0.1 --batch-size 256 data/imagenet-2012": "",
		"python train.py --hf-token abc --lr 1":                        "python train.py --hf-token [redacted] --lr 1",
		"python train.py --api_key=abc":                                "python train.py --api_key=[redacted]",
		"WANDB_API_KEY=abc python train.py":                            "WANDB_API_KEY=[redacted] python train.py",
		"python t.py --password --verbose":                             "",
		"python t.py --url https://me:pw@host/x":                       "python t.py --url https://[redacted]@host/x",
		"python t.py s3://b/k?X-Amz-Signature=abcdef&x=1":              "python t.py s3://b/k?X-Amz-Signature=[redacted]&x=1",
		"python t.py hf_abcdefghijklmnop":                              "python t.py [redacted]",
		"python t.py 9f86d081884c7d659a2feaa0c55ad015":                 "python t.py [redacted]",
		"python t.py wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY":           "python t.py [redacted]",
		"python t.py --tokenizer gpt2 --max-tokens 512":                "",
		"python t.py --num_tokens=1024":                                "",
		"python /home/me/projects/resnet50/train_imagenet_ddp.py":      "",
		"torchrun --nproc-per-node=8 --rdzv-backend=c10d train.py":     "",
		"python t.py --keypoints 17":                                   "",
	} {
		if want == "" {
			want = in
		}
		if got := strings.Join(redact(strings.Split(in, " ")), " "); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", in, got, want)
		}
	}
	program := []string{"python", "-c", "key = 1\nprint('token', key)"}
	if got := redact(program); got[2] != program[2] {
		t.Errorf("a program became %q", got[2])
	}
}

func TestShutOut(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py":                    "",
		"python -u train.py -I":              "",
		"python3.12 -I train.py":             "-I",
		"/usr/bin/python -uE train.py":       "-E",
		"torchrun --x python -S a":           "-S",
		"sh run.sh":                          "",
		"python -m torch.distributed.run -E": "",
		"python -W ignore -S a.py":           "-S",
		"python -Wignore a.py":               "",
		"python -c import -I":                "",
		"python -X importtime -I a.py":       "-I",
	} {
		if got := shutOut(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
