// Package usage says what this process has used. It knows of no other process:
// observe has those.
package usage
