// Package advise turns a verdict into a plan: changes of settings, ranked by
// what they are worth, with effort, risk and the traps of this machine.
//
// Every worth comes from predict; a change whose forecast is too small to be
// told from noise is not advised, and the plan says so. It changes nothing by
// itself; package emit prints its changes as lines to paste.
package advise
