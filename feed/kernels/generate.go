package kernels

//go:generate sh -c "cd asm && go run . -kernels idct -out ../../decode/idct/kernels_amd64.s -stubs ../../decode/idct/kernels_stub_amd64.go -pkg idct"
//go:generate sh -c "cd asm && go run . -kernels rows -out ../../decode/planes/kernels_amd64.s -stubs ../../decode/planes/kernels_stub_amd64.go -pkg planes"
//go:generate sh -c "cd asm && go run . -kernels transform -out ../../transform/kernels_amd64.s -stubs ../../transform/kernels_stub_amd64.go -pkg transform"
//go:generate sh -c "cd asm && go run . -kernels picture -out ../../picture/kernels_amd64.s -stubs ../../picture/kernels_stub_amd64.go -pkg picture"
//go:generate sh -c "cd asm && go run . -kernels png -out ../../decode/unfilter/kernels_amd64.s -stubs ../../decode/unfilter/kernels_stub_amd64.go -pkg unfilter"
//go:generate sh -c "cd asm && go run . -kernels inflate -out ../../decode/inflate/kernels_amd64.s -stubs ../../decode/inflate/kernels_stub_amd64.go -pkg inflate"
//go:generate go run ./neon -out ../decode/kernels_arm64.s -pkg decode neon/c/huffman.c
//go:generate go run ./neon -out ../decode/idct/kernels_arm64.s -pkg idct neon/c/idct.c
//go:generate go run ./neon -out ../decode/planes/kernels_arm64.s -pkg planes neon/c/rows.c
//go:generate go run ./neon -out ../transform/kernels_arm64.s -pkg transform neon/c/transform.c
//go:generate go run ./neon -out ../decode/unfilter/kernels_arm64.s -pkg unfilter neon/c/png.c
//go:generate go run ./neon -out ../decode/inflate/kernels_arm64.s -pkg inflate neon/c/inflate.c
