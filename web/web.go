// Package web serves a folder of recordings to a browser on the same machine: a list
// of runs, and the page of each, which asks for itself again while a run goes on.
//
// It is closed: it listens on loopback, every request needs the token of this start
// and comes to a host of ours from a page of ours, it takes GET and HEAD alone, and
// it reads no file but those that it lists.
//
// The token is the first part of every address. It is no cookie: a browser shows that
// to every port of 127.0.0.1, where another user's server may listen.
package web

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // for the list
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/stoker-dev/stoker/internal/closed"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/report/page"
)

var (
	//go:embed list.html
	listHTML string
	//go:embed list.css
	listCSS string
	//go:embed list.js
	listJS string

	listTemplate = template.Must(template.New("list").Parse(listHTML))
)

// Row is a run in the list.
type Row struct {
	Name  string // of its file, seen from the folder; what Page takes
	When  string
	Class string
	Tone  string // "good", "bad", "todo"
	Stall string
	Rate  string
	Fix   string // what the best fix is worth
	Alone bool   // there is no page: it is no file that could be read
}

// Runs are what is served.
type Runs interface {
	// List are the runs, newest first.
	List() ([]Row, error)
	// Page is what the page of a run of the list is about; fs.ErrNotExist for any other
	// name.
	JudgePage(name string) (page.Subject, error)
}

// Server answers a browser.
type Server struct {
	runs  Runs
	token string
	hosts []string // what a request may call us
	mux   *http.ServeMux
}

// Routes are the patterns that a Server answers below the token, each for GET and HEAD.
var Routes = []string{"/{$}", "/run/{name}"}

// New makes a server for the address on which it listens.
func New(runs Runs, address net.Addr) *Server {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	_, port, _ := net.SplitHostPort(address.String())
	s := &Server{runs: runs, token: hex.EncodeToString(secret), mux: http.NewServeMux()}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		s.hosts = append(s.hosts, host+":"+port)
	}
	handlers := map[string]http.HandlerFunc{Routes[0]: s.serveList, Routes[1]: s.servePage}
	for route, handler := range handlers {
		s.mux.HandleFunc("GET "+route, handler) // HEAD, too
	}
	return s
}

// Address is what to open in a browser.
func (s *Server) Address() string { return "http://" + s.hosts[0] + "/" + s.token + "/" }

// ServeHTTP lets through who has the token, and nobody else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	closed.Headers(h)
	if !s.ours(r) {
		http.Error(w, "this page is for the browser that the address was opened in: open the address that it printed",
			http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "pages are read, and nothing else", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == "/"+s.token {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusSeeOther)
		return
	}
	http.StripPrefix("/"+s.token, s.mux).ServeHTTP(w, r)
}

// ours reports whether a request is for us, from a page of ours or none, with the
// token. A page of somebody else's that a browser shows can name us, but not this.
func (s *Server) ours(r *http.Request) bool {
	host := false
	for _, name := range s.hosts {
		host = host || r.Host == name
	}
	if origin := r.Header.Get("Origin"); !host || origin != "" && origin != "http://"+r.Host {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return false
	}
	given, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

// shownRow is a row whose text is fit for a page, with the link of the name as it is.
type shownRow struct {
	Row

	Link string
}

func (s *Server) serveList(w http.ResponseWriter, _ *http.Request) {
	rows, err := s.runs.List()
	if err != nil {
		failed(w, err)
		return
	}
	shown := make([]shownRow, len(rows))
	for i, row := range rows {
		shown[i] = shownRow{Link: "run/" + url.PathEscape(row.Name), Row: row} // it may have any byte
		safe.Values(&shown[i].Row)
	}
	s.send(w, "default-src 'none'; style-src "+hashOf(listCSS)+"; script-src "+hashOf(listJS)+
		"; connect-src 'self'; base-uri 'none'; form-action 'none'", func(b *bytes.Buffer) error {
		return listTemplate.Execute(b, struct {
			CSS  template.CSS
			JS   template.JS
			Rows []shownRow
		}{template.CSS(listCSS), template.JS(listJS), shown})
	})
}

// hashOf is how a policy names a text that it allows.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	subject, err := s.runs.JudgePage(r.PathValue("name"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
		return
	case err != nil:
		failed(w, err)
		return
	}
	subject.Live = true
	s.send(w, page.FormPolicy(true), func(b *bytes.Buffer) error { return page.WriteRun(b, subject) })
}

// send sends a page that is whole, or says that there is none.
func (s *Server) send(w http.ResponseWriter, policy string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	_, _ = w.Write(b.Bytes())
}

func failed(w http.ResponseWriter, err error) {
	http.Error(w, safe.Text(err.Error(), 1000), http.StatusInternalServerError)
}
