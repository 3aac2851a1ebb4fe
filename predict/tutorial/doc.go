// Package tutorial holds the published data-wall tutorial: its two models
// (TransformationModel and DataModel), and its figures with our estimate beside each
// (Tutorial).
package tutorial
