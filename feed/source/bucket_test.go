package source

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// store plays an S3-compatible store in this process: objects by key, and faults.
type store struct {
	mu      sync.Mutex
	objects map[string][]byte
	asked   map[string]int
	fault   func(w http.ResponseWriter, key string, n int) bool // the n-th ask, from 1; true: answered
	gone    <-chan struct{}                                     // the client of the present request has given up
	signed  atomic.Bool
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKID/") {
		s.signed.Store(true)
	}
	key, object := strings.CutPrefix(r.URL.Path, "/pictures/")
	s.asked[key]++
	s.gone = r.Context().Done()
	if s.fault != nil && s.fault(w, key, s.asked[key]) {
		return
	}
	if !object {
		s.list(w, r.URL.Query())
		return
	}
	data, found := s.objects[key]
	switch {
	case !found:
		refuse(w, 404, "NoSuchKey")
	case r.Header.Get("If-Match") != etag(data):
		refuse(w, 412, "PreconditionFailed")
	default:
		w.Header().Set("ETag", etag(data))
		_, _ = w.Write(data)
	}
}

// list gives three objects a page.
func (s *store) list(w http.ResponseWriter, query url.Values) {
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	fmt.Fprint(w, `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>`)
	for i, key := range keys {
		if i == 3 {
			fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken>", keys[2])
			break
		}
		fmt.Fprintf(w, "<Contents><Key>%s</Key><ETag>%s</ETag><Size>%d</Size></Contents>", url.QueryEscape(key), strings.ReplaceAll(etag(s.objects[key]), `"`, "&quot;"), len(s.objects[key]))
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it says.</Message></Error>", code)
}

func etag(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

// aStore has the pictures of folder, which it makes as well.
func aStore(t *testing.T, budget string) (s *store, folder string) {
	t.Helper()
	folder = t.TempDir()
	s = &store{objects: map[string][]byte{}, asked: map[string]int{}}
	for i, name := range []string{"cat/a b+c.jpg", "cat/ü.png", "cat/z/deep.JPG", "dog/1.jpg", "dog/2.jpg", "dog/notes.txt", "dog-2/x.jpg", "loose.jpg"} {
		data := bytes.Repeat([]byte{byte(i), 7}, 5000+i)
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s.objects["train/"+name] = data
	}
	s.objects["train2/no/x.jpg"] = nil
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the secret")
	t.Setenv("STOKER_CACHE_DIR", t.TempDir())
	t.Setenv("STOKER_CACHE", budget)
	shared.cache, pause, stalls = nil, 50*time.Microsecond, 30*time.Second
	return s, folder
}

func readAll(f *Folder) (all [][]byte, err error) {
	for i := range f.Len() {
		file, err := f.OpenFile(i)
		if err != nil {
			return nil, err
		}
		data, err := file.Read(nil)
		file.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func listed(t *testing.T, root string) *Folder {
	t.Helper()
	f, err := List(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A bucket is the same data set as the folder that was copied to it: names, labels, order
// and bytes; with room in the cache for all, for some and for none.
func TestBucketIsTheFolder(t *testing.T) {
	for budget, again := range map[string]int{"1GB": 0, "25kB": 4, "0B": 6} { // objects that a second epoch fetches
		s, folder := aStore(t, budget)
		near, far := listed(t, folder), listed(t, "s3://pictures/train/")
		if near.Digest() != far.Digest() || !slices.Equal(near.Classes(), far.Classes()) {
			t.Fatalf("%v and %v", near.Classes(), far.Classes())
		}
		if got := far.Path(0); got != "s3://pictures/train/cat/a b+c.jpg" {
			t.Error(got)
		}
		want, err := readAll(near)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.asked = map[string]int{}
			if got, err := readAll(far); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("budget %s: other bytes, %v", budget, err)
			}
		}
		if len(s.asked) != again || !s.signed.Load() {
			t.Errorf("budget %s: the second epoch asked for %v", budget, s.asked)
		}
		left, _ := os.ReadDir(filepath.Join(os.Getenv("STOKER_CACHE_DIR"), "objects"))
		if len(left) != 6-again {
			t.Errorf("budget %s: %d objects are left in the cache", budget, len(left))
		}
	}
}

// A store may have a path on its host; a root without a bucket is invalid.
func TestBucketWhere(t *testing.T) {
	aStore(t, "1GB")
	server, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	below := httptest.NewServer(http.StripPrefix("/storage/s3", httputil.NewSingleHostReverseProxy(server)))
	t.Cleanup(below.Close)
	t.Setenv("AWS_ENDPOINT_URL", below.URL+"/storage/s3/")
	if _, err := readAll(listed(t, "s3://pictures/train")); err != nil {
		t.Error(err)
	}
	for _, root := range []string{"s3://", "s3:///train"} {
		if _, err := List(t.Context(), root, Options{}); err == nil || !strings.Contains(err.Error(), "names no bucket: expected s3://BUCKET/PREFIX") {
			t.Errorf("%s: %v", root, err)
		}
	}
}

// The cache of an earlier process is used, and evicted when room is needed.
func TestBucketCacheLasts(t *testing.T) {
	s, _ := aStore(t, "35kB") // three
	f := listed(t, "s3://pictures/train/")
	if _, err := readAll(f); err != nil {
		t.Fatal(err)
	}
	fetched := func() (n int) {
		shared.cache, s.asked = nil, map[string]int{}
		f := listed(t, "s3://pictures/train/")
		for _, i := range []int{0, 5, 4, 3} {
			file, err := f.OpenFile(i)
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
		delete(s.asked, "/pictures")
		return len(s.asked)
	}
	if n := fetched(); n != 3 { // 0 was left; 5 and 4 take the place of 1 and 2; there is no room for 3
		t.Errorf("%d were fetched", n)
	}
	if n := fetched(); n != 1 {
		t.Errorf("%d were fetched again", n)
	}
}

// What a power cut left, of its size and with other bytes, is fetched again.
func TestBucketCacheIsChecked(t *testing.T) {
	s, _ := aStore(t, "1GB")
	want, err := readAll(listed(t, "s3://pictures/train/"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("STOKER_CACHE_DIR"), "objects", "*"))
	if err := os.WriteFile(files[0], make([]byte, len(want[0])), 0o600); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(files[1], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = torn.WriteAt(make([]byte, 4096), 4096)
	if err := errors.Join(err, torn.Close()); err != nil {
		t.Fatal(err)
	}
	shared.cache, s.asked = nil, map[string]int{}
	got, err := readAll(listed(t, "s3://pictures/train/"))
	if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("other bytes, %v", err)
	}
	if delete(s.asked, "/pictures"); len(s.asked) != 2 || len(files) != 6 {
		t.Errorf("%d of %d were fetched again", len(s.asked), len(files))
	}
}

// Data are prefetched once, even without a cache, and by several threads.
func TestBucketAhead(t *testing.T) {
	s, _ := aStore(t, "0B")
	f := listed(t, "s3://pictures/train")
	var all sync.WaitGroup
	for range 4 {
		for i := range f.Len() {
			all.Go(func() { f.fetchAhead(i) })
		}
	}
	all.Wait()
	if _, err := readAll(f); err != nil {
		t.Fatal(err)
	}
	for key, n := range s.asked {
		if key != "/pictures" && n != 1 {
			t.Errorf("%s was fetched %d times", key, n)
		}
	}
}

// Each fault passes, or is one error that names the object, says what to do and holds no
// secret; other bytes never come.
func TestBucketFaults(t *testing.T) {
	const key = "train/dog/1.jpg"
	some := func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 100)) }
	for name, c := range map[string]struct {
		fault func(w http.ResponseWriter, n int) bool
		want  string // in the error; "" none
		own   bool   // the error is the object's; else an outage
	}{
		"500 twice": {func(w http.ResponseWriter, n int) bool {
			if n <= 2 {
				refuse(w, 500, "InternalError")
			}
			return n <= 2
		}, "", false},
		"500 for ever": {func(w http.ResponseWriter, _ int) bool { refuse(w, 503, "SlowDown"); return true }, "503 SlowDown: it says, after 9 tries", false},
		"cut": {func(w http.ResponseWriter, n int) bool {
			w.Header().Set("Content-Length", "10006")
			some(w)
			return true
		}, "after 9 tries", false},
		"too short":  {func(w http.ResponseWriter, _ int) bool { some(w); return true }, "100 bytes came, and 10006 were listed", false},
		"wrong ETag": {func(w http.ResponseWriter, _ int) bool { w.Header().Set("ETag", `"other"`); some(w); return true }, "it was changed since it was listed", true},
		"403":        {func(w http.ResponseWriter, _ int) bool { refuse(w, 403, "AccessDenied"); return true }, "403 AccessDenied: it says: these credentials may not", true},
		"keys":       {func(w http.ResponseWriter, _ int) bool { refuse(w, 403, "InvalidAccessKeyId"); return true }, "these credentials may not", false},
		"expired":    {func(w http.ResponseWriter, _ int) bool { refuse(w, 400, "ExpiredToken"); return true }, "400 ExpiredToken", false},
		"no bucket":  {func(w http.ResponseWriter, _ int) bool { refuse(w, 404, "NoSuchBucket"); return true }, "404 NoSuchBucket", false},
		"clock":      {func(w http.ResponseWriter, _ int) bool { refuse(w, 403, "RequestTimeTooSkewed"); return true }, "it says: set this machine's clock", false},
		"region":     {func(w http.ResponseWriter, _ int) bool { refuse(w, 400, "AuthorizationHeaderMalformed"); return true }, "it says: set AWS_REGION", false},
		"404":        {func(w http.ResponseWriter, _ int) bool { refuse(w, 404, "NoSuchKey"); return true }, "404 NoSuchKey: it says: it is not there", true},
		"412":        {func(w http.ResponseWriter, _ int) bool { refuse(w, 412, "PreconditionFailed"); return true }, "start the run again", true},
		"elsewhere": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Location", "http://192.0.2.1/")
			refuse(w, 301, "PermanentRedirect")
			return true
		}, "set AWS_REGION", false},
		"slow": {func(w http.ResponseWriter, n int) bool {
			if n == 1 {
				some(w)
				_ = http.NewResponseController(w).Flush()
			}
			return n == 1
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, folder := aStore(t, "1GB")
			if name == "slow" {
				stalls = 300 * time.Millisecond
			}
			near, far := listed(t, folder), listed(t, "s3://pictures/train")
			s.fault = func(w http.ResponseWriter, asked string, n int) bool {
				if asked != key {
					return false
				}
				if name == "too short" || name == "cut" || name == "slow" {
					w.Header().Set("ETag", etag(s.objects[key]))
				}
				answered := c.fault(w, n)
				if name == "slow" && answered {
					<-s.gone
				}
				return answered
			}
			want, _ := readAll(near)
			got, err := readAll(far)
			switch {
			case c.want == "" && (err != nil || !slices.EqualFunc(got, want, bytes.Equal)):
				t.Errorf("other bytes, or %v", err)
			case c.want != "" && err == nil:
				t.Error("no error")
			case c.want != "" && (!strings.Contains(err.Error(), "get s3://pictures/"+key+": ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "the secret")):
				t.Errorf("%v\nwant %s", err, c.want)
			case c.want != "" && IsOutage(err) == c.own:
				t.Errorf("%v: the object's own: %v, expected %v", err, !IsOutage(err), c.own)
			}
			left, _ := os.ReadDir(filepath.Join(os.Getenv("STOKER_CACHE_DIR"), "objects"))
			for _, file := range left {
				if strings.HasPrefix(file.Name(), "coming-") {
					t.Errorf("%s is left", file.Name())
				}
			}
		})
	}
}

// A cache is in a place where only the user can create files, and evicts only its own files.
func TestCacheIsOurs(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	for _, name := range []string{"thesis.tex", "coming-1", "coming-2"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(folder, "coming-2"), now, now.Add(-2*abandoned)); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(folder, 1, now); err != nil {
		t.Fatal(err)
	}
	var left []string
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		left = append(left, file.Name())
	}
	if !slices.Equal(left, []string{"coming-1", "thesis.tex"}) {
		t.Errorf("left: %q", left)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(folder, 1, now); err == nil || !strings.Contains(err.Error(), "others can write to "+folder) {
		t.Errorf("a folder that all can write to: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a folder of somebody else")
	}
	if err := errors.Join(os.Chmod(folder, 0o755), os.Chown(folder, 1, -1)); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(folder, 1, now); err == nil || !strings.Contains(err.Error(), "belongs to user 1") {
		t.Errorf("a folder of somebody else: %v", err)
	}
}

// AWS's own examples of signatures.
func TestSign(t *testing.T) {
	k := keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for address, want := range map[string]string{
		"https://examplebucket.s3.amazonaws.com/test.txt":             "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		"https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(address, "txt") {
			r.Header.Set("Range", "bytes=0-9")
		}
		k.signRequest(r, "us-east-1", at)
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+want) {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// Credentials come from the environment, else from a profile of AWS's file.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = A\naws_secret_access_key=B\n# x\n[other]\naws_access_key_id=C\naws_secret_access_key = D=\naws_session_token=E\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	for profile, want := range map[string]keys{"": {"A", "B", ""}, "other": {"C", "D=", "E"}, "none": {}} {
		t.Setenv("AWS_PROFILE", profile)
		if got, err := findKeys(); got != want || err != nil {
			t.Errorf("profile %q: %v, %v", profile, got, err)
		}
	}
}
