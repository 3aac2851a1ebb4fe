// Package ci writes a verdict in the formats of continuous integration: a summary in Markdown,
// and problems with file and line as SARIF, GitHub workflow commands, or a GitLab Code Quality
// report.
package ci
