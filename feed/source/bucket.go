package source

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/stoker-dev/stoker/internal/redact"
)

// scheme begins the root of a data set in an S3-compatible store: s3://BUCKET/PREFIX.
const scheme = "s3://"

var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// InBucket reports whether a root is in an S3-compatible store.
func InBucket(root string) bool { return strings.HasPrefix(root, scheme) }

const (
	triesToList = 5          // a wrong address is reported within seconds
	tries       = 9          // of one object, for about a minute: long enough for a store to restart
	mostList    = 20_000_000 // objects below a prefix
)

// Variables, so that tests need not wait.
var (
	pause  = 200 * time.Millisecond // before the second try; it doubles each time
	stalls = 30 * time.Second       // a try without a byte for so long has failed
)

// bucket is a data set in a store. Objects are fetched into files of the cache, and read from
// there like any others.
type bucket struct {
	client  *client
	name    string
	prefix  string // of all keys, with a slash at its end unless it is empty
	cache   *cache
	objects []object        // by sample
	ctx     context.Context // the folder's
}

// object is what the listing said about an object. A different object under its key is an
// error.
type object struct {
	etag string
	size int64
}

// listBucket is List for s3://BUCKET/PREFIX. A class is what follows the prefix, up to the next
// slash.
func listBucket(ctx context.Context, root string, o Options) (*Folder, error) {
	name, prefix, _ := strings.Cut(strings.TrimRight(strings.TrimPrefix(root, scheme), "/"), "/")
	// the error does not quote it: it may hold a secret
	if !bucketName.MatchString(name) || strings.ContainsAny(prefix, "?#") {
		return nil,
			fmt.Errorf("%s names no bucket: expected s3://BUCKET/PREFIX without keys or a query: AWS_ACCESS_KEY_ID "+
				"and AWS_PROFILE name the keys", redact.Addresses(root))
	}
	root = strings.TrimRight(root, "/")
	if prefix != "" {
		prefix += "/"
	}
	client, err := newClient()
	if err != nil {
		return nil, err
	}
	b := &bucket{client: client, name: name, prefix: prefix}
	if b.cache, err = theCache(); err != nil {
		return nil, err
	}
	f, err := openRoot(b.cache.folder, o)
	if err != nil {
		return nil, err
	}
	f.root, f.bucket = root, b
	b.ctx = f.ctx
	if err := b.listBucket(ctx, f, o); err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return f, nil
}

// listBucket lists the objects below the prefix and adds them to f.
func (b *bucket) listBucket(ctx context.Context, f *Folder, o Options) error {
	found := map[string]object{} // by path below the root
	below := map[string][]string{}
	classes := map[string]bool{}
	for token, more := "", true; more; {
		var page page
		err := b.tryAgain(ctx, b.prefix, triesToList, func(ctx context.Context) (err error) {
			page, err = b.client.listObjects(ctx, b.name, b.prefix, token)
			return err
		})
		if err != nil {
			return err
		}
		for _, at := range page.Contents {
			key := strings.TrimPrefix(at.Key, b.prefix)
			class, _, inside := strings.Cut(key, "/")
			if !inside || class == "" {
				continue
			}
			classes[class] = true
			if cut := strings.LastIndexByte(key, '/') + 1; hasExtension(key, o.Extensions) {
				below[key[:cut]] = append(below[key[:cut]], key[cut:])
				found[key] = object{at.ETag, at.Size}
			}
		}
		if len(found) > mostList {
			return fmt.Errorf("%s holds more than %d objects", f.root, mostList)
		}
		if o.Progress != nil {
			o.Progress(len(found))
		}
		token, more = page.NextContinuationToken, page.NextContinuationToken != "" &&
			page.NextContinuationToken != token
	}
	return b.arrange(f, classes, below, found, o)
}

// arrange adds the listed objects to f in ImageFolder's order.
func (b *bucket) arrange(f *Folder, classes map[string]bool, below map[string][]string, found map[string]object,
	o Options,
) error {
	for class := range classes {
		f.classes = append(f.classes, class)
	}
	if len(f.classes) == 0 {
		return fmt.Errorf("no class folder in %s: a data set has one subfolder per class, with its images in it",
			f.root)
	}
	if err := f.gatherBelow(below, o); err != nil {
		return err
	}
	for i := range f.Len() {
		b.objects = append(b.objects, found[f.Below(i)])
	}
	return nil
}

// fetchObject writes a sample's object to a file and returns the checksum of its bytes. It is
// an error if the object is not the one that was listed, or incomplete.
func (b *bucket) fetchObject(below string, want object, to *os.File) (sum uint32, err error) {
	key := b.prefix + below
	err = b.tryAgain(b.ctx, key, tries, func(ctx context.Context) error {
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := b.client.getObject(ctx, b.name+"/"+key, nil, want.etag)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }() // only read
		if strings.Trim(response.Header.Get("ETag"), `"`) != want.etag {
			return errChanged
		}
		watch := time.AfterFunc(stalls, cancel)
		defer watch.Stop()
		bytes := crc32.New(castagnoli)
		n, err := io.Copy(io.MultiWriter(to, bytes), &deadlineReader{io.LimitReader(response.Body, want.size+1), watch})
		sum = bytes.Sum32()
		switch {
		case ctx.Err() != nil:
			err = fmt.Errorf("no byte came for %s", stalls)
		case err == nil && n != want.size:
			err = fmt.Errorf("%d bytes came, and %d were listed: %w", n, want.size, io.ErrUnexpectedEOF)
		}
		return err
	})
	return sum, err
}

// errChanged means that an object is no longer the one that was listed.
var errChanged = errors.New(
	"it was changed since it was listed: start the run again, so that it is listed as it is now")

// deadlineReader extends the deadline of a try with each byte that arrives.
type deadlineReader struct {
	io.Reader

	watch *time.Timer
}

func (a *deadlineReader) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.watch.Reset(stalls)
	}
	return n, err
}

// tryAgain calls try until it succeeds, fails in a way that will not pass, or has failed tries
// times.
func (b *bucket) tryAgain(ctx context.Context, key string, tries int, try func(context.Context) error) error {
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ofDisk(err) { // the local file, and not the store
			return err
		}
		says, whose := explain(err)
		if whose != passing || n == tries {
			if whose == passing {
				says = fmt.Sprintf("%s, after %d tries", says, tries)
			}
			err = fmt.Errorf("get %s%s/%s: %s", scheme, b.name, key, says)
			if whose != objects {
				err = &Outage{Err: err, Lasts: true}
			}
			return err
		}
		wait := pause << (n - 1)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)): // random, so that clients do not retry at the same moment
		}
	}
}

// blame says what an error of a store is about.
type blame int

const (
	objects blame = iota // one object: others can be read
	passing              // the store or the network for the moment: worth another try
	setup                // the request's settings: no object can be read until somebody changes them
)

// refusals are the codes with which a store refuses a client, for any object.
var refusals = map[string]bool{
	"ExpiredToken": true, "InvalidToken": true, "TokenRefreshRequired": true, "RequestExpired": true,
	"InvalidAccessKeyId":   true,
	"InvalidClientTokenId": true, "SignatureDoesNotMatch": true, "AccountProblem": true, "NotSignedUp": true,
	"NoSuchBucket": true,
}

// explain returns what a store's answer means and what to do, and what the error is about. The
// text of the store or the network is cut short and has no credentials, as those are sent in
// headers.
func explain(err error) (says string, whose blame) {
	var a storeError
	if !errors.As(err, &a) && !errors.Is(err, errChanged) {
		text := err.Error()
		return redact.Addresses(text[:min(len(text), 300)]), passing
	}
	if refusals[a.Code] || a.status == http.StatusUnauthorized {
		whose = setup
	}
	switch code := a.status; {
	case errors.Is(err, errChanged) || code == http.StatusPreconditionFailed:
		return errChanged.Error(), objects
	case a.Code == "RequestTimeTooSkewed":
		return a.Error() + ": set this machine's clock", setup
	case a.Code == "AuthorizationHeaderMalformed": // the scope of a signature has the region
		return a.Error() + ": set AWS_REGION", setup
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		return a.Error() +
			": these credentials may not list or read it. See AWS_ACCESS_KEY_ID, AWS_PROFILE and AWS_ENDPOINT_URL " +
			"where the script starts", whose
	case code == http.StatusNotFound:
		return a.Error() + ": it is not there, or not any more. See bucket, prefix, AWS_ENDPOINT_URL and AWS_REGION",
			whose
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return a.Error(), passing
	case code >= 300 && code < 400:
		return a.Error() + ": it lies elsewhere: set AWS_REGION, or AWS_ENDPOINT_URL", setup
	}
	return a.Error(), whose
}
