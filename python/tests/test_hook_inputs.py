"""Input that is no DataLoader: loaders of other names (stand-ins), and stoker.watch."""

import os
import textwrap
import unittest

from test_hook import CLIENT, CLOCK, FakeCase

MS = 1_000_000

# For each kind: the files of a stand-in, and how a program makes an iterator of it over `numbers`.
STAND_INS = {
    "ray": (
        {"ray/data/iterator.py": """
            class _IterableFromIterator:
                def __init__(self, make): self.make = make
                def __iter__(self): return self.make()
            class DataIterator:
                def iter_torch_batches(self): return _IterableFromIterator(lambda: iter(numbers))
        """},
        "from ray.data import iterator; iterator.numbers = numbers; batches = iterator.DataIterator().iter_torch_batches()",
    ),
    "dali": (
        {"nvidia/dali/plugin/pytorch/__init__.py": """
            class DALIGenericIterator:
                def __init__(self, numbers): self.numbers = numbers
                def __iter__(self): return self
                def __next__(self): return [{"data": next(self.numbers)}]
            class DALIClassificationIterator(DALIGenericIterator):
                def __next__(self): return super().__next__()
        """},
        "from nvidia.dali.plugin.pytorch import DALIClassificationIterator; batches = DALIClassificationIterator(iter(numbers))",
    ),
    "tf.data": (
        {"tensorflow/python/data/ops/iterator_ops.py": """
            class OwnedIterator:
                def __init__(self, numbers): self.numbers = numbers
                def __iter__(self): return self
                def __next__(self): return next(self.numbers)
        """},
        "from tensorflow.python.data.ops.iterator_ops import OwnedIterator; batches = OwnedIterator(iter(numbers))",
    ),
    "grain": (
        {"grain/_src/python/data_loader.py": """
            class DataLoaderIterator:
                def __init__(self, numbers): self.numbers = numbers
                def __iter__(self): return self
                def __next__(self): return next(self.numbers)
        """},
        "from grain._src.python.data_loader import DataLoaderIterator as D; batches = D(D(iter(numbers)))",
    ),
    "grain pipeline": (
        {"grain/_src/python/dataset/dataset.py": """
            class Stage:
                def __init__(self, before): self.before = before
                def __iter__(self): return self
                def __next__(self): return next(self.before)
            class _OutputIterDataset:
                def __iter__(self): return Stage(Stage(iter(numbers)))
         """, "grain/_src/python/dataset/transformations/process_prefetch.py": "def is_in_worker_process(): return False"},
        "import grain._src.python.dataset.transformations.process_prefetch as p; import grain._src.python.dataset.dataset as d; d.numbers = numbers\n"
        "    p.is_in_worker_process = lambda: True; assert next(iter(d._OutputIterDataset())) == 5\n"
        "    p.is_in_worker_process = lambda: False; numbers.left = 6; batches = iter(d._OutputIterDataset()); assert type(batches) is d.Stage",
    ),
    "watched": ({}, "import stoker; batches = stoker.watch(numbers)"),
}


class Inputs(FakeCase):
    BODY = """
    class Numbers:
        def __init__(self): self.left = 6
        def __iter__(self): return self
        def __next__(self):
            time.sleep(0.004)
            if not self.left: raise StopIteration
            self.left -= 1
            return self.left
    numbers = Numbers()
    MAKE
    seen = []
    for batch in batches:
        time.sleep(0.01)
        seen.append(batch["data"] if isinstance(batch, dict) else batch[0]["data"] if isinstance(batch, list) else batch)
    assert seen == [5, 4, 3, 2, 1, 0], seen
    """

    def test_each_has_a_boundary(self):
        self.paths.append(CLIENT)
        for kind, (files, make) in STAND_INS.items():
            for torch in ("", "    import torch\n"):
                for name, text in files.items():
                    folder = self.fake
                    for part in os.path.dirname(name).split("/"):
                        folder = os.path.join(folder, part)
                        os.makedirs(folder, exist_ok=True)
                        open(os.path.join(folder, "__init__.py"), "a").close()
                    with open(os.path.join(self.fake, name), "w") as file:
                        file.write(textwrap.dedent(text))
                result = self.silent(self.run_program(torch + CLOCK + self.BODY.replace("MAKE", make)), "")
                self.assertEqual(result.of("warn"), [], kind)
                (loader,) = result.of("loader")
                self.assertEqual((loader["kind"], loader["num_workers"], loader["iterable"]), (kind.split()[0], None, True))
                self.assertTrue(loader["file"].endswith("program.py"), loader)
                self.assertEqual([(s["n"], s["w"] // MS, s["p"] // MS) for s in result.of("step")], [(n, 4, 14) for n in range(6)], (kind, torch))

    def test_watch_changes_nothing_else(self):
        self.paths.append(CLIENT)
        source = """
    import torch, stoker
    from torch.utils.data import DataLoader
    def made():
        try:
            got = yield 1
            while True: got = yield got
        finally: print("closed")
    one = stoker.watch(made())
    print(next(one), one.send("sent"), next(one), one is iter(one), hasattr(one, "throw"))
    one.close()
    class Mine:
        size = 3
        def __len__(self): return 2
        def __iter__(self): return iter("ab")
    mine = stoker.watch(Mine())
    print(len(mine), mine.size, list(mine), list(mine), bool(mine), hasattr(stoker.watch(made), "__call__"))
    print([len(list(stoker.watch(range(3)))) for epoch in range(2)], stoker.watch(stoker.watch(mine)) is mine)
    loader = DataLoader([torch.Tensor(1)], 1)
    print(stoker.watch(loader) is loader)
    def bad():
        yield 1
        raise KeyError("mine")
    try: list(stoker.watch(bad()))
    except KeyError as error: print(repr(error), error.__context__)
        """.replace(', hasattr(stoker.watch(made), "__call__")', "")
        plain = self.silent(self.run_program(source.replace("stoker.watch(stoker.watch(mine)) is mine", "True"), hook=False))
        hooked = self.silent(self.run_program(source))
        self.assertEqual(plain.out, hooked.out)
        self.assertEqual(hooked.of("warn"), [])

    def test_an_error_of_ours_costs_nothing(self):
        self.paths.append(CLIENT)
        for name in ("_ask", "_got", "_end_of_data", "settings", "watch"):
            source = """
    import sys, stoker
    inputs = sys.modules["_stoker_hook"].part("inputs")
    def broken(*args): raise ArithmeticError("NAME")
    if hasattr(inputs.NAME, "__closure__") and inputs.NAME.__closure__: inputs.NAME.__closure__[0].cell_contents = broken
    elif "NAME" == "settings": inputs.describe.others[:] = [broken]
    else: inputs.NAME = broken
    print(list(stoker.watch(iter("abc"))))
            """.replace("NAME", name)
            result = self.silent(self.run_program(source), "['a', 'b', 'c']\n")
            self.assertIn("ArithmeticError: " + name, result.of("warn")[0]["text"])


if __name__ == "__main__":
    unittest.main()
