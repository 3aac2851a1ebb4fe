package main
import ("testing";"os";"context";"io")
func TestZZ(t *testing.T) {
	a := run(context.Background(), []string{"trace", os.Getenv("ZZ")}, os.Stdin, io.Discard, os.Stderr)
	t.Log(a)
}
