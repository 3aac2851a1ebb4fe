package kernels

//go:generate sh -c "cd asm && go run . -kernels idct -out ../../decode/idct_amd64.s -stubs ../../decode/idct_amd64.go -pkg decode"
//go:generate sh -c "cd asm && go run . -kernels rows -out ../../decode/rows_amd64.s -stubs ../../decode/rows_stub_amd64.go -pkg decode"
//go:generate sh -c "cd asm && go run . -kernels transform -out ../../transform/kernels_amd64.s -stubs ../../transform/kernels_stub_amd64.go -pkg transform"
//go:generate go run ./neon -out ../decode/kernels_arm64.s -pkg decode neon/c/huffman.c neon/c/idct.c neon/c/rows.c
//go:generate go run ./neon -out ../transform/kernels_arm64.s -pkg transform neon/c/transform.c
