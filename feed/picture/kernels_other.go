//go:build !amd64

package picture

import "image"

func weighGreySIMD(_, _, _, _ []byte) int                 { return 0 }
func mixSIMD(_, _ []byte, _ int, _ *lanes)                {}
func findSpotsSIMD(*lanes, *[11]float64, *[5]int32, bool) {}
func blendSIMD(_, _ []byte, _ float32) int                { return 0 }
func lookUpSIMD([]byte, *lookUp) int                      { return 0 }
func smoothSIMD(_, _ []byte) int                          { return 0 }
func turnHueSIMD(_, _, _ []byte, _ uint8) int             { return 0 }
func transposeSIMD(_, _ []byte, _ image.Point, _, _ bool) {}

func (b *blur) blurColumnsSIMD(_ []byte, _ []uint32, _, _, _ []byte, _ int) int { return 0 }
