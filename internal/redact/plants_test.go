package redact

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/poison"
)

// TestNoPlantIsFoundAgain tries each name of a secret in each shape with each value.
func TestNoPlantIsFoundAgain(t *testing.T) {
	if len(poison.SecretNames) < 60 || len(poison.SecretShapes) < 25 || len(poison.SecretValues) < 8 {
		t.Fatal("too few names, shapes or values")
	}
	n := 0
	kept := map[string][]string{}
	for plant := range poison.Plants() {
		n++
		if clean := strings.Join(CommandLine(plant.Command), " "); plant.Leak(clean) != "" {
			kept[plant.Shape] = append(kept[plant.Shape], fmt.Sprintf("%q gives %q", plant.Command, clean))
		}
	}
	total := 0
	for shape, lines := range kept {
		slices.Sort(lines)
		total += len(lines)
		t.Errorf("%s: %d kept, such as\n\t%s", shape, len(lines), strings.Join(lines[:min(3, len(lines))], "\n\t"))
	}
	t.Logf("%d plants, %d kept", n, total)
}

// FuzzCommand hides a value behind a name of a secret, made of a word of training and one
// of secrets, in some shape. It wants no argument lost and the same of the same.
func FuzzCommand(f *testing.F) {
	for i, name := range poison.SecretNames {
		f.Add(name, "Xq7"+name+"vZ", uint(i))
		f.Add("model_"+name, "hunter2", uint(i*7))
	}
	f.Fuzz(func(t *testing.T, name, value string, at uint) {
		words := wordsOf(name)
		if len(name) > 64 || !plainName().MatchString(name) || strings.ContainsAny(name, "+~/@.") || trustOf(name) != secret || len(words) == 0 {
			t.Skip()
		}
		if len(value) < 6 || isSmall(value) || strings.ContainsAny(value, "'\n") {
			t.Skip() // it would end the quotes of a shape
		}
		plant := poison.PlantOf(name, value, at)
		if strings.Contains(strings.Join(poison.PlantOf(name, "", at).Command, " ")+Hidden, value) {
			t.Skip() // the value occurs elsewhere in the command
		}
		clean := CommandLine(plant.Command)
		if len(clean) != len(plant.Command) {
			t.Fatalf("%q gives %q", plant.Command, clean)
		}
		if plant.Leak(strings.Join(clean, " ")) != "" {
			t.Errorf("%q gives %q", plant.Command, clean)
		}
		if again := CommandLine(plant.Command); !slices.Equal(clean, again) {
			t.Errorf("%q, then %q", clean, again)
		}
	})
}

// TestUnnamedSecrets: random values are always hidden, no matter what precedes them.
func TestUnnamedSecrets(t *testing.T) {
	for _, value := range []string{
		"kL9xQ2vB7mZ4pR8w", "9f86d081884c7d659a2feaa0c55ad015", "550e8400-e29b-41d4-a716-446655440000", "kL9x-Q2vB-7mZ4-pR8w",
		"dG9rZW4xMjM0NTY3OA==", "aHVudGVyMg==", "4111111111111111", "ghp_HUSHaaaaaaaaaaaaaaaa", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij",
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "x7k9q2m4", "7661174080", "482913", "WDqHQqpd.KqdQn", "u,WDqHQqpd.KqdQn", "api_key//7661174080",
		"webhook,7493705827",
	} {
		for _, before := range []string{
			"python t.py", "python t.py --model", "python t.py --data-dir", "python t.py --run-name=", "python t.py name=", "python t.py model.name=",
			"python t.py -o", "python t.py --unknown-thing", "python t.py --data-dir /data/", "python t.py s3://bucket/", "python t.py --", "python t.py -",
			"./", "env X=", "python -m", "python t.py --config {", "python t.py --lr", "python t.py --seed=", "python t.py /opt:", "python t.py -D",
		} {
			line := before + " " + value
			if strings.ContainsAny(before[len(before)-1:], "=/-{:D") {
				line = before + value
			}
			number := strings.HasPrefix(before, "python t.py --seed") || strings.HasSuffix(before, "--lr") ||
				strings.HasSuffix(before, "/") && oneNumberOnly(value) // a folder, of a step or a job
			if got := strings.Join(CommandLine(strings.Fields(line)), " "); strings.Contains(got, value) && !number {
				t.Errorf("%q gives %q", line, got)
			}
		}
	}
}

func oneNumberOnly(value string) bool {
	return strings.Trim(value, "0123456789") == "" && len(value) <= 12
}

// TestLettersOfOthers: a one-letter flag has different meanings in different programs.
func TestLettersOfOthers(t *testing.T) {
	for line, want := range map[string]string{
		"ldapsearch -x -w swordfish":                      "ldapsearch -x -w [redacted]",
		"srun -n 8 -o log.txt -w node12 python t.py -w x": "srun -n 8 -o log.txt -w node12 python t.py -w [redacted]",
		"python t.py -pGa1b2-c3d4":                        "python t.py -p[redacted]",
		"./backup -Ga1b2-c3d4-e5f6":                       "./backup -G[redacted]",
		"srun -w node[01-04] python t.py":                 "srun -w node[01-04] python t.py",
		"python -X dev -c login('swordfish')":             "python -X dev -c [redacted]",
	} {
		if got := strings.Join(CommandLine(strings.Fields(line)), " "); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", line, got, want)
		}
	}
}

// TestVocabularyNamesNoSecret keeps words that also name secrets off the list.
func TestVocabularyNamesNoSecret(t *testing.T) {
	for _, words := range []map[string]bool{numberWords(), textWords()} {
		for w := range words {
			if namesSecret([]string{w}) && !strings.HasPrefix(w, "tokeniz") {
				t.Errorf("%q names secrets", w)
			}
		}
	}
	for _, name := range poison.SecretNames {
		if trustOf(name) > unknown {
			t.Errorf("%q passes as harmless", name)
		}
	}
}

// TestText checks that sentences lose whatever resembles a secret.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"mlflow did not take figures: HTTPError: 401 for https://bob:hunter2@host/api?token=hunter2": "mlflow did not take figures: HTTPError: 401 for https://[redacted]@host/api?[redacted]",
		`ValueError: api_key="hunter2" is wrong`:                                                     `ValueError: api_key="[redacted]" is wrong`,
		"OSError: no such file /data/imagenet/train":                                                 "",
		"Post \"http://127.0.0.1:4318/v1/metrics\": connection refused":                              "",
		"admin-password: hunter2":                                                                    "admin-password: [redacted]",
		"login_token=hunter2, lr=0.1":                                                                "login_token=[redacted], lr=0.1",
		"RuntimeError: max_new_tokens: 512 and pin_memory=True do not fit":                           "",
		"Authorization: Bearer hunter2":                                                              "Authorization: [redacted]",
	} {
		if want == "" {
			want = in
		}
		if got := Text(in); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", in, got, want)
		}
	}
	if got := Addresses("--token-file: https://hunter2@h/x and s3://k:hunter2@b?x=hunter2: why"); strings.Contains(got, "hunter2") || !strings.Contains(got, "--token-file: ") {
		t.Error(got)
	}
}

// BenchmarkCommand is what the start of a process costs.
func BenchmarkCommand(b *testing.B) {
	command := strings.Fields("torchrun --nproc-per-node=8 train.py --model vit_b --lr 0.1 --batch-size 256 --api-key hunter2 --data /data/imagenet/train")
	for b.Loop() {
		CommandLine(command)
	}
}

func BenchmarkCommandOfMany(b *testing.B) {
	command := strings.Fields(strings.Repeat("--x=a:b@c/d?e=f:g@h ", 20_000))
	for b.Loop() {
		CommandLine(command)
	}
}
