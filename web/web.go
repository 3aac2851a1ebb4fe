// Package web serves a folder of recordings to a browser on the same machine: a list of runs,
// and a page for each run, which reloads itself while the run continues.
//
// Access is restricted: the server listens on loopback only; each request must carry the token
// of this start, name this host, and come from a page of this server; only GET and HEAD are
// allowed; and only listed files are read.
//
// The token is the first part of each path. It is not a cookie, because a browser sends a
// cookie to every port of 127.0.0.1, and another user's server may listen on one of them.
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
	Name  string // path of its file relative to the folder; the argument of JudgePage
	When  string
	Class string
	Tone  string // "good", "bad", "todo"
	Stall string
	Rate  string
	Fix   string // speed-up of the best fix
	Alone bool   // the file could not be read, so there is no page
}

// Runs provides the runs to serve.
type Runs interface {
	// List returns the runs, newest first.
	List() ([]Row, error)
	// JudgePage judges a run of the list for its page. It returns fs.ErrNotExist for any other
	// name.
	JudgePage(name string) (page.Subject, error)
}

// Server is the HTTP handler of the pages.
type Server struct {
	runs  Runs
	token string
	hosts []string // accepted values of the Host header
	mux   *http.ServeMux
}

// Routes are the patterns that a Server handles below the token, each for GET and HEAD.
var Routes = []string{"/{$}", "/run/{name}"}

// New makes a server that listens on the given address.
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
		s.mux.HandleFunc("GET "+route, handler) // GET includes HEAD
	}
	return s
}

// Address returns the URL to open in a browser.
func (s *Server) Address() string { return "http://" + s.hosts[0] + "/" + s.token + "/" }

// ServeHTTP answers requests that carry the token and rejects all others.
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

// ours reports whether a request names this host, carries the token, and comes from a page of
// this server or from none. Another site's page can send requests to this host, but does not
// know the token.
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

// shownRow is a Row with its text made safe for a page, and a link made from the original name.
type shownRow struct {
	Row

	Link string
}

// serveList writes the list of runs.
func (s *Server) serveList(w http.ResponseWriter, _ *http.Request) {
	rows, err := s.runs.List()
	if err != nil {
		writeFailure(w, err)
		return
	}
	shown := make([]shownRow, len(rows))
	for i, row := range rows {
		shown[i] = shownRow{Link: "run/" + url.PathEscape(row.Name), Row: row} // a name may hold any byte
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

// hashOf returns the source expression by which a content security policy allows a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// servePage writes the page of one run.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	subject, err := s.runs.JudgePage(r.PathValue("name"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
		return
	case err != nil:
		writeFailure(w, err)
		return
	}
	subject.Live = true
	s.send(w, page.FormPolicy(true), func(b *bytes.Buffer) error { return page.WriteRun(b, subject) })
}

// send writes a page after it was rendered completely, or else an error.
func (s *Server) send(w http.ResponseWriter, policy string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		writeFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	_, _ = w.Write(b.Bytes())
}

// writeFailure answers with an error of the server.
func writeFailure(w http.ResponseWriter, err error) {
	http.Error(w, safe.Text(err.Error(), 1000), http.StatusInternalServerError)
}
