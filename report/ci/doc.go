// Package ci writes a verdict in the forms that continuous integration takes: a summary in
// Markdown, and problems at their lines as SARIF, as GitHub's workflow commands and as
// GitLab's Code Quality report.
package ci
