// Package tutorial holds the published data-wall tutorial: its two models
// (TransformationModel and DataModel), and its figures with our estimate next to each
// (Tutorial).
package tutorial
