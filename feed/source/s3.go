package source

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// client makes the two requests that a loader needs of an S3-compatible store: list the objects
// below a prefix, and get one. minio-go, which covers all of S3, would add eleven modules and
// newer versions of those that draw the screen.
type client struct {
	endpoint *url.URL
	region   string
	http     *http.Client
}

// newClient finds the store by the environment variables of AWS's own tools.
func newClient() (*client, error) {
	c := &client{region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")}
	at := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"),
		"https://s3."+c.region+".amazonaws.com")
	var err error
	c.endpoint, err = url.Parse(at)
	if err != nil || c.endpoint.Host == "" || c.endpoint.User != nil || c.endpoint.Scheme != "http" &&
		c.endpoint.Scheme != "https" {
		// the error does not quote it: it may hold a secret
		return nil, errors.New("AWS_ENDPOINT_URL names no store: expected http(s)://HOST[:PORT]")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.MaxIdleConnsPerHost = stalls, 2*readers
	transport.DisableCompression = true // keep the bytes as they are stored
	c.http = &http.Client{
		Transport: transport,
		// a signed request must not go elsewhere
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// storeError is a store's answer to a request that failed.
type storeError struct {
	status        int
	Code, Message string
}

func (a storeError) Error() string {
	return strings.TrimRight(fmt.Sprintf("%d %s: %s", a.status, cmp.Or(a.Code, http.StatusText(a.status)), a.Message),
		".: ")
}

// getObject sends a GET request for a path of the store. The caller closes the body.
func (c *client) getObject(ctx context.Context, path string, query url.Values, match string) (*http.Response, error) {
	u := *c.endpoint
	path = strings.TrimRight(u.Path, "/") + "/" + path
	u.Path, u.RawPath, u.RawQuery = path, escapeURI(path, true), canonical(query)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.URL = &u
	if match != "" {
		request.Header.Set("If-Match", `"`+match+`"`)
	}
	k, err := findKeys()
	if err != nil {
		return nil, err
	}
	if k.id != "" {
		k.signRequest(request, c.region, time.Now().UTC())
	}
	response, err := c.http.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	a := storeError{status: response.StatusCode}
	_ = xml.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&a) // the status alone says enough
	return nil, a
}

// page is one part of a listing.
type page struct {
	EncodingType          string
	NextContinuationToken string
	Contents              []struct {
		Key, ETag string
		Size      int64
	}
}

// listObjects requests the next objects below a prefix, in the order of their keys.
func (c *client) listObjects(ctx context.Context, bucket, prefix, token string) (p page, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	response, err := c.getObject(ctx, bucket, query, "")
	if err != nil {
		return p, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	if err := xml.NewDecoder(io.LimitReader(response.Body, 1<<24)).Decode(&p); err != nil {
		return p, fmt.Errorf("read the listing: %w", err)
	}
	for i := range p.Contents {
		at := &p.Contents[i]
		at.ETag = strings.Trim(at.ETag, `"`)
		if p.EncodingType == "url" {
			if at.Key, err = url.QueryUnescape(at.Key); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// keys are credentials of a store. Without an id, requests are anonymous.
type keys struct{ id, secret, token string }

// findKeys reads the credentials from the environment or else from AWS's file. It does so for
// each request, so that renewed ones are used. If the file cannot be read because of an outage,
// it returns an error: an anonymous request would be refused, and the object would be blamed.
func findKeys() (keys, error) {
	if k := (keys{
		os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"),
		os.Getenv("AWS_SESSION_TOKEN"),
	}); k.id != "" {
		return k, nil
	}
	home, _ := os.UserHomeDir()
	file, err := os.Open(cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials")))
	if err != nil {
		return keys{}, outageOnly(err)
	}
	defer func() { _ = file.Close() }() // only read
	found, inside := map[string]string{}, false
	lines := bufio.NewScanner(io.LimitReader(file, 1<<20))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = strings.Trim(line, "[] ") == cmp.Or(os.Getenv("AWS_PROFILE"), "default")
		} else if name, value, ok := strings.Cut(line, "="); ok && inside {
			found[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return keys{found["aws_access_key_id"], found["aws_secret_access_key"], found["aws_session_token"]},
		outageOnly(lines.Err())
}

// outageOnly returns an error only if it is an outage, which is worth another try.
func outageOnly(err error) error {
	if err == nil || !IsOutage(err) {
		return nil
	}
	// as text, so that ofDisk does not take it for the cache's
	return fmt.Errorf("read the keys of the store: %s", err.Error())
}

// nothing is the SHA-256 of an empty body.
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signRequest adds AWS's signature (version 4) to a request without a body.
func (k keys) signRequest(r *http.Request, region string, now time.Time) {
	date, day := now.Format("20060102T150405Z"), now.Format("20060102")
	r.Header.Set("X-Amz-Date", date)
	r.Header.Set("X-Amz-Content-Sha256", nothing)
	if k.token != "" {
		r.Header.Set("X-Amz-Security-Token", k.token)
	}
	values := map[string]string{"host": r.URL.Host}
	for name := range r.Header {
		values[strings.ToLower(name)] = r.Header.Get(name)
	}
	names, headers := slices.Sorted(maps.Keys(values)), ""
	for _, name := range names {
		headers += name + ":" + values[name] + "\n"
	}
	signed := strings.Join(names, ";")
	request := sha256.Sum256([]byte(strings.Join([]string{
		r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers,
		signed, nothing,
	}, "\n")))
	scope := day + "/" + region + "/s3/aws4_request"
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{
		day, region, "s3", "aws4_request",
		"AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(request[:]),
	} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization",
		fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%x", k.id, scope, signed, key))
}

// canonical returns a query in the form in which it is signed and sent.
func canonical(query url.Values) string {
	var parts []string
	for name, values := range query {
		parts = append(parts, escapeURI(name, false)+"="+escapeURI(values[0], false))
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// escapeURI returns text as AWS escapes it in a URL. Unlike Go, it escapes everything but
// letters, digits and -._~, and the slash if text is not a path.
func escapeURI(text string, path bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~", c) >= 0 || path && c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
