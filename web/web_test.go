package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/web"
)

// shelf has one run, one with an odd name, one that cannot be read and one that is no file.
type shelf struct {
	t     *testing.T
	asked func(name string)
}

const run = "2026-run.jsonl.gz"

func (shelf) List() ([]web.Row, error) {
	return []web.Row{{Name: run, Class: "cpu-bound"}, {Name: "bad" + poison.Name}, {Name: "broken"}, {Name: "pipe", Alone: true}}, nil
}

func (s shelf) JudgePage(name string) (page.Subject, error) {
	if s.asked != nil {
		s.asked(name)
	}
	switch name {
	case run:
	case "broken":
		return page.Subject{}, errors.New("it is broken" + poison.Text)
	default:
		return page.Subject{}, fs.ErrNotExist
	}
	r, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		s.t.Fatal(err)
	}
	v := judge.Judge(r)
	return page.Subject{Name: name, Run: r, Verdict: v, Plan: advise.Rank(r, v)}, nil
}

// served is a server with a way to ask it.
type served struct {
	*web.Server
	host, token string
}

func serve(t *testing.T) served {
	t.Helper()
	s := web.New(shelf{t: t}, address)
	return served{s, address.String(), tokenOf(s)}
}

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765}

// tokenOf is the path of the address that is printed.
func tokenOf(s *web.Server) string {
	return strings.Trim(strings.TrimPrefix(s.Address(), "http://"+address.String()), "/")
}

// ask asks for a path below the token.
func (s served) ask(method, path string, change func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+s.host+"/"+s.token+path, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PROPFIND"}

func paths() []string {
	all := []string{"/nowhere", "/run/", "/run/../../etc/passwd"}
	for _, route := range web.Routes {
		all = append(all, strings.NewReplacer("{$}", "", "{name}", run).Replace(route))
	}
	return all
}

// No route answers any method to who has no token, calls us by another name, or comes
// from a page of somebody else's.
func TestOtherRequestsAreRejected(t *testing.T) {
	s := serve(t)
	strangers := map[string]func(*http.Request){
		"no token":            func(r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, "/"+s.token) },
		"a wrong token":       func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, s.token, strings.Repeat("0", 32), 1) },
		"part of the token":   func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, s.token, s.token[:31], 1) },
		"more than the token": func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, s.token, s.token+"0", 1) },
		"the token elsewhere": func(r *http.Request) { r.URL.Path, r.URL.RawQuery = "/run/"+s.token, "token="+s.token },
		"the token as cookie": func(r *http.Request) {
			r.URL.Path = "/"
			r.AddCookie(&http.Cookie{Name: "stoker-8765", Value: s.token})
		},
		"another name":         func(r *http.Request) { r.Host = "attacker.example:8765" },
		"another port":         func(r *http.Request) { r.Host = "127.0.0.1:80" },
		"another page":         func(r *http.Request) { r.Header.Set("Origin", "http://attacker.example") },
		"another page of ours": func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:80") },
		"a picture elsewhere": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "no-cors")
		},
	}
	for who, change := range strangers {
		for _, method := range methods {
			for _, path := range paths() {
				w := s.ask(method, path, change)
				if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "cpu-bound") || w.Header().Get("Content-Security-Policy") == "" {
					t.Errorf("%s: %s %s: %d %q", who, method, path, w.Code, w.Body.String())
				}
			}
		}
	}
}

// Who has the token reads, and does nothing else.
func TestTokenGrantsAccess(t *testing.T) {
	s := serve(t)
	for _, method := range methods {
		for _, path := range paths() {
			w := s.ask(method, path, nil)
			reads := method == "GET" || method == "HEAD"
			refused := w.Code == http.StatusMethodNotAllowed || method == "CONNECT" && w.Code == http.StatusForbidden // it names no host
			if !reads && !refused || reads && w.Code >= 500 {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
	for path, want := range map[string]string{"/": "cpu-bound", "/run/" + run: "</html>"} {
		if w := s.ask("GET", path, nil); w.Code != 200 || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := s.ask("GET", "/run/absent", nil); w.Code != http.StatusNotFound {
		t.Errorf("a run that is not listed: %d", w.Code)
	}
	page := s.ask("GET", "/run/"+run, nil)
	if !strings.Contains(page.Header().Get("Content-Security-Policy"), "connect-src 'self'") || !strings.Contains(page.Body.String(), "data-live") {
		t.Error("the page does not ask for itself again")
	}
}

// The list reloads itself by its script, which the policy allows by hash. A refresh by the
// browser would take the focus away from the reader (axe: meta-refresh).
func TestListReloads(t *testing.T) {
	s := serve(t)
	list := s.ask("GET", "/", nil)
	body, policy := list.Body.String(), list.Header().Get("Content-Security-Policy")
	for _, text := range []string{body, s.ask("GET", "/run/"+run, nil).Body.String()} {
		if regexp.MustCompile(`(?i)http-equiv="?refresh`).MatchString(text) {
			t.Error("a page is refreshed by the browser")
		}
	}
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindStringSubmatch(body)
	if script == nil || !strings.Contains(script[1], "fetch(location.href") {
		t.Fatalf("no script asks again: %s", body)
	}
	sum := sha256.Sum256([]byte(script[1]))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) || !strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("the policy is %s, want %s", policy, want)
	}
}

// A browser shows cookies to all ports of a host, and a page's address to pages that it
// leads to: neither has the token.
func TestTokenIsNotLeaked(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"", "/", "/run/" + run, "/nowhere"} {
		w := s.ask("GET", path, nil)
		if w.Header().Get("Set-Cookie") != "" || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q: %v", path, w.Header())
		}
	}
	if w := s.ask("GET", "", nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/"+s.token+"/" {
		t.Errorf("without the last slash: %d, to %q", w.Code, w.Header().Get("Location"))
	}
	if other := serve(t); other.token == s.token || len(s.token) != 32 {
		t.Error("two starts have one token")
	}
}

// Each link of the list leads to the page of its row, for any bytes in a name.
func TestLinksLeadToTheirRows(t *testing.T) {
	s := serve(t)
	text := s.ask("GET", "/", nil).Body.String()
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(links) != 3 {
		t.Fatalf("%d links in %s", len(links), text)
	}
	var asked []string
	s.Server = web.New(shelf{t: t, asked: func(name string) { asked = append(asked, name) }}, address)
	s.token = tokenOf(s.Server)
	for _, link := range links {
		s.ask("GET", "/"+html.UnescapeString(link[1]), nil)
	}
	rows, _ := shelf{}.List()
	for i, row := range rows[:3] {
		if i >= len(asked) || asked[i] != row.Name {
			t.Errorf("the links lead to %q", asked)
		}
	}
}

// Names and errors come from outside.
func TestListIsEscaped(t *testing.T) {
	s := serve(t)
	if leak := poison.Leak(strings.ReplaceAll(s.ask("GET", "/", nil).Body.String(), "\n", "")); leak != "" {
		t.Errorf("stands raw: %s", leak)
	}
	w := s.ask("GET", "/run/broken", nil)
	if leak := poison.Leak(strings.TrimSuffix(w.Body.String(), "\n")); leak != "" || w.Code != http.StatusInternalServerError {
		t.Errorf("%d stands raw: %s", w.Code, leak)
	}
}
