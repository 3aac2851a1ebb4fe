package picture

import (
	"fmt"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
)

// BenchmarkOps does one operation to a picture of 256 x 256 pixels in RGB, from its
// pixels to its pixels: "nothing" is what the copies cost.
func BenchmarkOps(b *testing.B) {
	w := NewWorker(decode.Limits{})
	pixels := make([]byte, 3*256*256)
	for i := range pixels {
		pixels[i] = byte(i * 2654435761 >> 13)
	}
	for _, c := range []struct{ name, op string }{
		{"nothing", `["crop",0,0,256,256]`},
		{"resize", `["resize",224,224,2]`},
		{"lanczos", `["resize",224,224,1]`},
		{"bicubic to half", `["resize",117,117,3]`},
		{"bicubic to quarter", `["resize",64,64,3]`},
		{"bicubic to eighth", `["resize",33,33,3]`},
		{"rotate90", `["transpose",2]`},
		{"affine nearest", `["affine",256,256,[0.9,0.3,-9,-0.3,0.9,8],0,[0,0,0]]`},
		{"affine bilinear", `["affine",256,256,[0.9,0.3,-9,-0.3,0.9,8],2,[0,0,0]]`},
		{"affine bicubic", `["affine",256,256,[0.9,0.3,-9,-0.3,0.9,8],3,[0,0,0]]`},
		{"perspective bilinear", `["perspective",256,256,[0.9,0.3,-9,-0.3,0.9,8,0.001,0.001],2,[0,0,0]]`},
		{"pad", `["pad","reflect",32,32,32,32]`},
		{"posterize", `["posterize",4]`},
		{"autocontrast", `["autocontrast"]`},
		{"equalize", `["equalize"]`},
		{"grey", `["convert","L"]`},
		{"hue", `["hue",30]`},
		{"brightness", `["brightness",1.3]`},
		{"color", `["color",1.3]`},
		{"color less", `["color",0.7]`},
		{"contrast", `["contrast",1.3]`},
		{"sharpness", `["sharpness",1.3]`},
		{"gaussian", `["gaussian_blur",1.1,1.1]`},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(fmt.Sprintf(`{"mode":"RGB","size":[256,256],"ops":[%s]}`, c.op))
			var dst []byte
			for b.Loop() {
				p, err := Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				if len(dst) != p.Output.Bytes() {
					dst = make([]byte, p.Output.Bytes())
				}
				if err := w.Run(p, Source{Pixels: pixels}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse reads what RandAugment asks for.
func BenchmarkParse(b *testing.B) {
	text := []byte(`{"mode":"RGB","size":[500,375],"ops":[["crop",31,20,340,301],["resize",224,224,2,null],["transpose",0],` +
		`["affine",224,224,[0.9,0.3,-9,-0.3,0.9,8],0,[0,0,0]],["posterize",4],["pil_to_tensor"]]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
