//go:build !amd64

package picture

import "image"

func blendAcrossSIMD([]int16, []byte, *acrossTable)                  {}
func blendDownSIMD(_ []byte, _, _ []int16, _, _ int32) int           { return 0 }
func weighGreySIMD(_, _, _, _ []byte, _ bool) int                    { return 0 }
func convertToHSVSIMD(_, _, _ []byte) int                            { return 0 }
func convertFromHSVSIMD(_, _, _ []byte)                              {}
func findPlacesSIMD(*placeRow, *[6]float32, int, int, bool)          {}
func blendFourSIMD(_, _ []byte, _ int, _ *placeRow)                  {}
func halveSIMD(_, _, _ []byte) int                                   { return 0 }
func averageAcrossSIMD([]float32, []byte, *areaTable, float32, bool) {}
func roundSumsSIMD([]byte, []float32) int                            { return 0 }
func blendCubicAcrossSIMD([]float32, []byte, *cubicTable, bool)      {}
func blendCubicDownSIMD([]byte, *[4][]float32, *[4]float32) int      { return 0 }
func blurAcrossSIMD([]int16, []byte, []uint16) int                   { return 0 }
func blurDownSIMD([]byte, []int16, int, []uint16) int                { return 0 }
func addWeightedSIMD(_, _ []byte, _ *[3]float32) int                 { return 0 }
func mixSIMD(_, _ []byte, _ int, _ *lanes)                           {}
func findSpotsSIMD(*lanes, *[11]float64, *[5]int32, bool)            {}
func blendSIMD(_, _ []byte, _ float32) int                           { return 0 }
func lookUpSIMD([]byte, *lookUp) int                                 { return 0 }
func smoothSIMD(_, _ []byte) int                                     { return 0 }
func turnHueSIMD(_, _, _ []byte, _ uint8) int                        { return 0 }
func transposeSIMD(_, _ []byte, _ image.Point, _, _ bool)            {}

func (b *blur) blurColumnsSIMD(_ []byte, _ []uint32, _, _, _ []byte, _ int) int { return 0 }
