// Package oracle decodes JPEGs with libjpeg-turbo, for tests only: the differential tests of
// package decode compare every sample with it. It needs cgo, the library's headers
// (libjpeg62-turbo-dev on Debian) and the build tag turbo. The default build contains none of
// it.
package oracle
