//go:build linux

package observe

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/poison"
)

const planted = "Xq7hunter2vZ"

// plantedLine returns a shell command with a secret in every form. /bin/true accepts all of them.
func plantedLine(name string) string {
	var words []string
	for i := range poison.SecretShapes {
		for _, word := range poison.PlantOf(name, planted, uint(i)).Command {
			words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		words = append(words, "--")
	}
	return strings.Join(words, " ")
}

// TestSecretsAreInNoFile observes commands with secrets, runs every verb on the recordings, and
// searches every file and everything that was printed.
func TestSecretsAreInNoFile(t *testing.T) {
	folder := t.TempDir()
	var said strings.Builder
	tell := func(want int, line string) {
		t.Helper()
		code, out, errs := shell(t, folder, line)
		if code != want {
			t.Fatalf("%.60s: code %d\n%s", line, code, errs)
		}
		fmt.Fprintf(&said, "%s\n%s\n", out, errs)
	}
	for i, name := range []string{"admin_password", "session_token", "mfa_code"} {
		tell(0, fmt.Sprintf("stoker observe --prometheus %d.prom --json %d.json -- true train.py %s", i, i, plantedLine(name)))
	}
	tell(0, "stoker observe -q -- true --login-password /x/"+planted+".sh") // recordings are named after scripts
	tell(0, "sh -c 'sleep 3; :' x --admin-password "+planted+" TOTP_SEED="+planted+
		" & until grep -qa admin-password /proc/$!/cmdline; do sleep 0.01; done; stoker observe -q -o attached.jsonl.gz --pid $!; wait")
	tell(0, "MY_TOKEN="+planted+" stoker observe -q -- sh -c 'sh -c \"sleep 1; :\" x --mfa-code "+planted+" & exec -a pt_data_worker sleep 1' 2>/dev/null || true")
	tell(0, "sh -c 'sleep 2; :' x -u bob:"+planted+" & stoker observe -q -- sleep 1; wait") // a neighbour
	tell(0, "cp stoker-runs/*true-*.gz one.jsonl.gz || cp $(ls stoker-runs/*.gz | head -1) one.jsonl.gz")
	for _, line := range []string{
		"runs", "runs --json", "runs --csv", "report -o page.html one.jsonl.gz", "report -o two.html one.jsonl.gz attached.jsonl.gz",
		"diagnose --json one.jsonl.gz", "diagnose --explain one.jsonl.gz", "diagnose --markdown page.md one.jsonl.gz", "advise --json one.jsonl.gz",
		"advise -o plan.json one.jsonl.gz", "export -o run.prom one.jsonl.gz", "export -o run.json one.jsonl.gz", "export -o signals.csv one.jsonl.gz",
		"verify --json one.jsonl.gz attached.jsonl.gz",
	} {
		_, out, errs := shell(t, folder, "stoker "+line)
		fmt.Fprintf(&said, "%s\n%s\n", out, errs)
	}
	if strings.Contains(said.String(), planted) {
		t.Errorf("it was printed: %s", around(said.String()))
	}
	files := 0
	for name, text := range filesBelow(t, folder) {
		files++
		if strings.Contains(name+text, planted) {
			t.Errorf("%s holds it: %s", name, around(name+text))
		}
		if strings.HasSuffix(name, "attached.jsonl.gz") && !strings.Contains(text, `"--admin-password","[redacted]","TOTP_SEED=[redacted]"`) {
			t.Errorf("the attached command is not there: %.300s", text)
		}
	}
	if files < 15 {
		t.Errorf("%d files", files)
	}
}

func around(text string) string {
	at := strings.Index(text, planted)
	return fmt.Sprintf("%q", text[max(0, at-80):min(len(text), at+40)])
}

// filesBelow returns the contents of all files of a folder, uncompressed.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if unpack, gzErr := gzip.NewReader(bytes.NewReader(text)); gzErr == nil {
			text, err = io.ReadAll(unpack)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
		}
		texts[path] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

// Errors must not quote secrets, because logs of jobs keep what is printed.
func TestErrorsQuoteNoSecret(t *testing.T) {
	for _, line := range []string{
		"stoker observe -q --otlp http://bob:PLANT@127.0.0.1:1/x?token=PLANT -- sleep 0.3",
		"stoker observe -q --otlp http://PLANT@127.0.0.1:1 -- sleep 0.3",
		"stoker observe -q --otlp bob:PLANT@127.0.0.1:1 -- true",
		"stoker observe -q --otlp 'ftp://x/?key=PLANT' -- true",
		"AWS_SECRET_ACCESS_KEY=PLANT AWS_ACCESS_KEY_ID=AK stoker feed --check s3://AK:PLANT@bucket/train",
		"stoker feed --check 's3://bucket/train?X-Amz-Signature=PLANT'",
		"AWS_ENDPOINT_URL=http://bob:PLANT@127.0.0.1:1 stoker feed --check s3://bucket/train",
		"stoker feed --check 'https://bob:PLANT@host/train?sig=PLANT'",
		"stoker diagnose 'https://bob:PLANT@host/run.jsonl.gz?sig=PLANT'",
		"stoker trace 's3://bucket/trace.json?X-Amz-Signature=PLANT'",
		"stoker report -o 'https://host/?sig=PLANT' none.jsonl.gz",
	} {
		_, out, errs := shell(t, t.TempDir(), strings.ReplaceAll(line, "PLANT", planted))
		if strings.Contains(out+errs, planted) {
			t.Errorf("%s\n%s%s", line, out, errs)
		}
	}
}
