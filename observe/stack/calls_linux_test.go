package stack

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Native code has no frame: what a line calls is told by its text, and only names of the table are.
func TestCallIn(t *testing.T) {
	for text, want := range map[string]string{
		"    preds_all = numpy.concatenate([preds_all, preds])":   "grow",
		"        self.seen = torch.cat((self.seen, new))":         "grow",
		"    batch = numpy.concatenate(parts)":                    "",
		"    return torch.as_tensor(states, dtype=torch.float32)": "array",
		"    found = self.connection.execute(QUERY, (event,))":    "execute",
		"        pieces = PIECE.findall(word.lower())":            "re",
		"    picture = cv2.imread(str(path))":                     "cv2.imread",
		"    picture = cv2.resize(picture, (224, 224))":           "cv2",
		"    with open(path, 'rb') as file:":                      "open",
		"    at = numpy.random.choice(len(self), p=self.weights)": "random",
		"    order = distances.argsort()[:8]":                     "sort",
		"    ids = self.tokenizer(texts, padding='max_length')":   "tokenizer",
		"    cv2.imwrite(str(path), mask)":                        "write",
		"    x = self.x[i].to(self.device)":                       "device",
		"    stoker.watch(batches)":                               "",
		"    reopen(path)  # then open(it)":                       "",
		"    loss = total.item()":                                 "tolist",
		"    with open(self.path, 'a') as log:":                   "write",
		"    pickle.dump(samples, file)":                          "write",
		"    logits = generator.forward(noise)":                   "",
		"    import secret_words":                                 "",
		"    key = hashlib.sha256(picture.tobytes()).hexdigest()": "hashlib",
		"    record = orjson.loads(line)":                         "loads",
		"    print(f'step {step}: {loss}')":                       "print",
		"    data = zlib.decompress(stored)":                      "decompress",
	} {
		if got := callIn(text); got != want {
			t.Errorf("%q calls %q, want %q", text, got, want)
		}
	}
}

// What is no plain file tells nothing, and is not waited for.
func TestCallAtOtherFiles(t *testing.T) {
	folder := t.TempDir()
	file, pipe := filepath.Join(folder, "train.py"), filepath.Join(folder, "pipe.py")
	if err := os.WriteFile(file, []byte("import re\nwords = re.split(' ', text)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	known := sources{}
	for _, c := range []struct {
		file string
		line int
		want string
	}{{file, 2, "re"}, {file, 1, ""}, {file, 9, ""}, {pipe, 1, ""}, {"<stdin>", 1, ""}, {filepath.Join(folder, "gone.py"), 1, ""}} {
		if got := known.callAt(os.Getpid(), c.file, c.line); got != c.want {
			t.Errorf("line %d of %s calls %q, want %q", c.line, c.file, got, c.want)
		}
	}
}
