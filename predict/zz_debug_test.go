package predict

import (
	"fmt"
	"os"
	"testing"

	"stoker"
	"stoker/recording"
)

func TestZZ(t *testing.T) {
	run, err := recording.Open(os.Getenv("CASE"))
	if err != nil {
		t.Fatal(err)
	}
	b := From(run)
	c, _ := Slowest(run)
	fmt.Printf("costs %+v\n", func() Costs { c.Window.Steps = nil; return c }())
	fmt.Printf("took %v step %+v copy %+v prep %+v wait %+v shared %+v loopcpu %+v cores %v/%v workers %v batch %v epoch %v cv %v prefetch %v persistent %v decoded %+v\n", b.Took, b.Step, b.Copy, scaled(b.PrepareCPU, b.Batch), scaled(b.Wait, b.Batch), b.Shared, b.LoopCPU, b.Cores, b.CoresMost, b.Workers, b.Batch, b.Epoch, b.BatchCV, b.Prefetch, b.Persistent, b.Decoded)
	show := func(name string, changes ...stoker.Change) {
		s, _, _ := b.with(changes)
		p, _ := s.ready()
		was, _ := b.ready()
		p.exactly = true
		if s.Workers == 0 && b.Workers == 0 {
			p.overlap = was.overlap
		}
		fmt.Println("==", name, "overlap", p.overlap, "pinned", p.pinned)
		for v := range 3 {
			t := p.times(view(v), view(v))
			step, loop, bound := p.combine(t, view(v))
			p.exactly = false
			closed, _, _ := p.combine(t, view(v))
			p.exactly = true
			fmt.Printf("  %d read %.4g worker %.4g cpu %.4g collect %.4g copy %.4g compute %.4g waiting %.4g making %.4g: step %.4g closed %.4g loop %.4g %s\n", v, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], step, closed, loop, p.resource(bound))
		}
		f := b.Forecast(changes...)
		fmt.Printf("  speedup %+v step %+v residual %v\n", f.Speedup, f.Step, f.Residual)
	}
	show("none")
	ch := func(s stoker.Setting, to any) stoker.Change { return stoker.Change{Setting: s, To: to} }
	for _, w := range []int{1, 2, 4, 6} {
		show(fmt.Sprint("workers ", w), ch(stoker.NumWorkers, w), ch(stoker.PersistentWorkers, true))
	}
	show("feed", ch(stoker.LoaderKind, stoker.StokerLoader), ch(stoker.NumWorkers, FeedThreads(run)))
	show("pin", ch(stoker.PinMemory, true), ch(stoker.NonBlocking, true))
	show("page cache", ch(stoker.StorageKind, PageCache))
}
