package stack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Native code has no frame: what a line calls is told by its text, and only names of the table are.
func TestCallIn(t *testing.T) {
	for text, want := range map[string]string{
		"    preds_all = numpy.concatenate([preds_all, preds])":   "grow",
		"        self.seen = torch.cat((self.seen, new))":         "grow",
		"    batch = numpy.concatenate(parts)":                    "numpy.join",
		"    x = F.pad(x, (0, longest - len(x)))":                 "torch.join",
		"    os.system(f'gzip {path}')":                           "system",
		"    near = tree.query(points, k=16)":                     "nearest",
		"    place = self.names.index(name)":                      "search",
		"    ids = [i for i in ids if i not in self.held]":        "search",
		"    if step in (10, 20):":                                "",
		"    words = [w.lower() for w in text.split()]":           "text",
		"    kept = numpy.unique(ids)":                            "sort",
		"    power = numpy.fft.rfft(frames)":                      "numpy",
		"    field = F.conv2d(field, kernel)":                     "torch",
		"    half = picture.astype(numpy.float32) / 255":          "numpy.convert",
		"    eps = torch.normal(mean, std)":                       "random",
		"    noise = torch.empty(size).normal_()":                 "random",
		"    both = [numpy.exp(row) for row in rows]":             "loop",
		"    return torch.as_tensor(states, dtype=torch.float32)": "array",
		"    found = self.connection.execute(QUERY, (event,))":    "execute",
		"        pieces = PIECE.findall(word.lower())":            "re",
		"    for number, line in enumerate(file):":                "open",
		"    return torch.tensor(self.decode(self.message))":      "array",
		"    record = self.parser.decode(text)":                   "text",
		"    picture = cv2.imread(str(path))":                     "cv2.imread",
		"    question = socket.recv()":                            "receive",
		"    there, frame = capture.read()":                       "cv2.video",
		"    self.env = lmdb.open(path, readonly=True)":           "open.index",
		"    picture = cv2.resize(picture, (224, 224))":           "cv2",
		"    with open(path, 'rb') as file:":                      "open",
		"    at = numpy.random.choice(len(self), p=self.weights)": "random",
		"    order = distances.argsort()[:8]":                     "sort",
		"    ids = self.tokenizer(texts, padding='max_length')":   "tokenizer",
		"    cv2.imwrite(str(path), mask)":                        "write",
		"    x = self.x[i].to(self.device)":                       "device",
		"    stoker.watch(batches)":                               "",
		"    reopen(path)  # then open(it)":                       "",
		"            gc.collect()":                                "gc",
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
		if got := callIn(text, false); got != want {
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

// A line in a loop over elements is named, and none in a loop that trains, evaluates or makes batches.
func TestLinesInLoops(t *testing.T) {
	program := `import torch
"""For each picture in the folder: nothing."""
for epoch in range(9):
    total = 0
    for batch in loader:
        loss = model(batch)
        weights = batch.sum()
        for p, q in zip(params, averages):
            q.mul_(0.9).add_(p)
        loss.backward()
    tail = total + 1
def pick(self, low, high):
    at = 0
    while at < self.size:
        left = 2 * at + 1
        if low <= self.tree[left]:
            at = left
        else:
            low -= self.tree[left]
        label = random.choice(names)
    return at
def pairs(rows):
    first = rows[0]
    return [distance(a, first) for a in rows]
def batches(rows):
    while len(rows) > 2:
        rows = rows[2:]
        yield rows
for name in (
    "a",
):
    measure(name)
`
	want := map[int]string{
		8: inLoop, 9: inLoop, 14: inLoop, 15: inLoop, 16: inLoop, 17: inLoop, 18: inLoop, 19: inLoop, 20: "random", 24: inLoop,
		29: inLoop, 30: inLoop, 31: inLoop, 32: inLoop,
	}
	file := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	known := sources{}
	for n := range len(strings.Split(program, "\n")) {
		if got := known.callAt(os.Getpid(), file, n); got != want[n] {
			t.Errorf("line %d is %q, want %q", n, got, want[n])
		}
	}
}

// A helper that reads one value is left for the loop that calls it. One that works, or that no loop calls, is named.
func TestAHelperThatALoopCalls(t *testing.T) {
	program := `def item(x):
    return x.item()
def work(x):
    return x.detach() * scale
def detect(boxes):
    found = []
    for box in boxes:
        found.append(item(box) + work(box))
    return found
def first(boxes):
    return item(boxes[0])
`
	file := filepath.Join(t.TempDir(), "detect.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string, line int) place {
		return place{code: &code{file: file, name: name, part: inside}, line: line}
	}
	emulated := place{code: &code{file: emulatedFile, name: "Device.item", part: inside}, line: 201}
	waits := place{code: &code{file: emulatedFile, name: "Device.synchronize", part: inside}, line: 197}
	library := place{code: &code{file: "json/decoder.py", name: "decode", part: inside}, line: 9}
	for _, c := range []struct {
		stack []place
		want  []int // lines
	}{
		{[]place{at("item", 2), at("detect", 8)}, []int{8}},
		{[]place{emulated, at("item", 2), at("detect", 8)}, []int{201, 8}},
		{[]place{at("work", 4), at("detect", 8)}, []int{4, 8}},
		{[]place{at("item", 2), at("first", 11)}, []int{2, 11}},
		{[]place{waits, at("item", 2), at("detect", 8)}, []int{197, 2, 8}},
		{[]place{library, at("item", 2), at("detect", 8)}, []int{9, 2, 8}},
	} {
		var got []int
		for _, p := range (sources{}).outOfHelper(os.Getpid(), c.stack) {
			got = append(got, p.line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.stack, got, c.want)
		}
	}
}
