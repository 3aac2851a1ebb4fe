package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker/report/wire"
)

// The part of SARIF's object model that is used (OASIS, "Static Analysis Results Interchange
// Format (SARIF) Version 2.1.0", 2020).
type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifFile struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line int `json:"startLine"`
	}
	sarifPhysical struct {
		File   sarifFile   `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
)

// WriteSARIF writes problems as a SARIF 2.1.0 log, for code scanning.
func WriteSARIF(w io.Writer, problems []Problem, version string) error {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "stoker", Version: version, Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}
	rules := map[string]int{}
	for i, p := range problems {
		index, known := rules[p.Rule]
		if !known {
			index = len(rules)
			rules[p.Rule] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{p.Rule, sarifText{p.Says}})
		}
		result := sarifResult{
			Rule: p.Rule, Index: index, Level: "warning", Message: sarifText{p.Text}, Locations: []sarifLocation{},
			Fingerprints: map[string]string{"stoker/v1": p.fingerprint(problems[:i])},
		}
		if p.Fail {
			result.Level = "error"
		}
		if p.File != "" {
			result.Locations = append(result.Locations,
				sarifLocation{sarifPhysical{sarifFile{uri(p.File)}, sarifRegion{max(1, p.Line)}}})
		}
		run.Results = append(run.Results, result)
	}
	return wire.WriteObject(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uri returns a file name as a URI (RFC 3986): relative to the checkout, or with a scheme.
func uri(file string) string {
	var b strings.Builder
	if strings.HasPrefix(file, "/") {
		b.WriteString("file://")
	}
	for _, c := range []byte(file) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
