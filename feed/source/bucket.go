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
	"strings"
	"time"
)

// scheme begins the root of a data set in an S3-compatible store: s3://BUCKET/PREFIX.
const scheme = "s3://"

// InBucket reports whether a root lies in a store.
func InBucket(root string) bool { return strings.HasPrefix(root, scheme) }

const (
	triesToList = 5          // a wrong address is told in seconds
	tries       = 9          // of one object, for about a minute: a store that starts again is no end of a training
	mostList    = 20_000_000 // objects below a prefix
)

// Tests have less patience.
var (
	pause  = 200 * time.Millisecond // before the second try; each time twice as long
	stalls = 30 * time.Second       // without a byte: the try has failed
)

// bucket is where the samples of a Folder lie: their bytes are fetched into files of the
// cache, and read from there like any others.
type bucket struct {
	client  *client
	name    string
	prefix  string // of all keys, with a slash at its end unless it is empty
	cache   *cache
	objects []object // by sample
	ctx     context.Context
	close   context.CancelFunc
}

// object is what the listing said of one: it is what has to be read, or nothing is.
type object struct {
	etag string
	size int64
}

// listBucket is List of s3://BUCKET/PREFIX: classes are what stands before the first
// slash behind the prefix.
func listBucket(ctx context.Context, root string, o Options) (*Folder, error) {
	name, prefix, _ := strings.Cut(strings.TrimRight(strings.TrimPrefix(root, scheme), "/"), "/")
	if name == "" {
		return nil, fmt.Errorf("%s names no bucket: expected s3://BUCKET/PREFIX", root)
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
	b.ctx, b.close = context.WithCancel(context.Background())
	if err := b.list(ctx, f, o); err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return f, nil
}

// list fills a Folder.
func (b *bucket) list(ctx context.Context, f *Folder, o Options) error {
	found := map[string]object{} // by what is below the root
	below := map[string][]string{}
	classes := map[string]bool{}
	for token, more := "", true; more; {
		var page page
		err := b.again(ctx, b.prefix, triesToList, func(ctx context.Context) (err error) {
			page, err = b.client.list(ctx, b.name, b.prefix, token)
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
		token, more = page.NextContinuationToken, page.NextContinuationToken != "" && page.NextContinuationToken != token
	}
	return b.arrange(f, classes, below, found, o)
}

// arrange puts what was found in ImageFolder's order.
func (b *bucket) arrange(f *Folder, classes map[string]bool, below map[string][]string, found map[string]object, o Options) error {
	for class := range classes {
		f.classes = append(f.classes, class)
	}
	if len(f.classes) == 0 {
		return fmt.Errorf("no class folder in %s: a data set has one subfolder per class, with its images in it", f.root)
	}
	if err := f.gatherBelow(below, o); err != nil {
		return err
	}
	for i := range f.Len() {
		b.objects = append(b.objects, found[f.Below(i)])
	}
	return nil
}

// fetch writes the object of a sample to a file and sums its bytes; it is the one that
// was listed, whole, or there is an error.
func (b *bucket) fetch(below string, want object, to *os.File) (sum uint32, err error) {
	key := b.prefix + below
	err = b.again(b.ctx, key, tries, func(ctx context.Context) error {
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := b.client.get(ctx, b.name+"/"+key, nil, want.etag)
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
		n, err := io.Copy(io.MultiWriter(to, bytes), &alive{io.LimitReader(response.Body, want.size+1), watch})
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

// errChanged is of an object that is not any more what was listed.
var errChanged = errors.New("it was changed since it was listed; start the run again, so that it is listed as it is now")

// alive puts the end of a try off with each byte that comes.
type alive struct {
	io.Reader

	watch *time.Timer
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.watch.Reset(stalls)
	}
	return n, err
}

// again tries until it works, is not worth another try, or was tried often enough.
func (b *bucket) again(ctx context.Context, key string, tries int, try func(context.Context) error) error {
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		says, passing := explain(err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !passing || n == tries {
			if passing {
				says = fmt.Sprintf("%s, after %d tries", says, tries)
			}
			return fmt.Errorf("get %s%s/%s: %s", scheme, b.name, key, says)
		}
		wait := pause << (n - 1)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)): // not all at once
		}
	}
}

// explain says what a store's answer means and what to do, and whether it may pass. What
// the store or the network said is cut short and holds no credential: they are in headers.
func explain(err error) (says string, passing bool) {
	var a answer
	if !errors.As(err, &a) && !errors.Is(err, errChanged) {
		text := err.Error()
		return text[:min(len(text), 300)], true
	}
	switch code := a.status; {
	case errors.Is(err, errChanged) || code == http.StatusPreconditionFailed:
		return errChanged.Error(), false
	case a.Code == "RequestTimeTooSkewed":
		return a.Error() + ": set this machine's clock", false
	case a.Code == "AuthorizationHeaderMalformed": // the scope of a signature has the region
		return a.Error() + ": set AWS_REGION", false
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		return a.Error() + ": these credentials may not list or read it; see AWS_ACCESS_KEY_ID, AWS_PROFILE and AWS_ENDPOINT_URL where the script starts", false
	case code == http.StatusNotFound:
		return a.Error() + ": it is not there, or not any more; see bucket, prefix, AWS_ENDPOINT_URL and AWS_REGION", false
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return a.Error(), true
	case code >= 300 && code < 400:
		return a.Error() + "; it lies elsewhere: set AWS_REGION, or AWS_ENDPOINT_URL", false
	}
	return a.Error(), false
}
