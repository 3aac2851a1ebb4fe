package web_test

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/web"
)

// shelf has one run and one that cannot be read.
type shelf struct{ t *testing.T }

const run = "2026-run.jsonl.gz"

func (shelf) List() ([]web.Row, error) {
	return []web.Row{{Name: run, Class: "cpu-bound"}, {Name: "bad" + poison.Name}, {Name: "broken"}}, nil
}

func (s shelf) Page(name string) (report.Subject, error) {
	switch name {
	case run:
	case "broken":
		return report.Subject{}, errors.New("it is broken" + poison.Text)
	default:
		return report.Subject{}, fs.ErrNotExist
	}
	r, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		s.t.Fatal(err)
	}
	v := diagnose.Judge(r)
	return report.Subject{Name: name, Run: r, Verdict: v, Plan: advise.Rank(r, v)}, nil
}

// served is a server with a way to ask it.
type served struct {
	*web.Server
	host, token string
}

func serve(t *testing.T) served {
	t.Helper()
	s := web.New(shelf{t}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765})
	address, err := url.Parse(s.Address())
	if err != nil {
		t.Fatal(err)
	}
	return served{s, address.Host, address.Query().Get("token")}
}

func (s served) ask(method, path string, change func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+s.host+path, nil)
	r.AddCookie(&http.Cookie{Name: "stoker-8765", Value: s.token})
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
func TestNobodyElseIsAnswered(t *testing.T) {
	s := serve(t)
	strangers := map[string]func(*http.Request){
		"no token":             func(r *http.Request) { r.Header.Del("Cookie") },
		"a wrong token":        func(r *http.Request) { r.Header.Set("Cookie", "stoker-8765="+strings.Repeat("0", 32)) },
		"part of the token":    func(r *http.Request) { r.Header.Set("Cookie", "stoker-8765="+s.token[:31]) },
		"another port's":       func(r *http.Request) { r.Header.Set("Cookie", "stoker-8766="+s.token) },
		"a wrong one in path":  func(r *http.Request) { r.URL.RawQuery = "token=0" },
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
func TestWhoHasTheTokenReads(t *testing.T) {
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

// The token leaves the address at once.
func TestTokenLeavesTheAddress(t *testing.T) {
	s := serve(t)
	w := s.ask("GET", "/?token="+s.token, func(r *http.Request) { r.Header.Del("Cookie") })
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("%d, to %q, %q", w.Code, w.Header().Get("Location"), cookie)
	}
	if other := serve(t); other.token == s.token || len(s.token) != 32 {
		t.Error("two starts have one token")
	}
}

// Names and errors come from outside.
func TestNothingRawInTheList(t *testing.T) {
	s := serve(t)
	if leak := poison.Leak(strings.ReplaceAll(s.ask("GET", "/", nil).Body.String(), "\n", "")); leak != "" {
		t.Errorf("stands raw: %s", leak)
	}
	w := s.ask("GET", "/run/broken", nil)
	if leak := poison.Leak(strings.TrimSuffix(w.Body.String(), "\n")); leak != "" || w.Code != http.StatusInternalServerError {
		t.Errorf("%d stands raw: %s", w.Code, leak)
	}
}
