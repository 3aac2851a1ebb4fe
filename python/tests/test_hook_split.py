"""What the hook tells of how a data set gives its samples to workers, with a real PyTorch."""

import os
import shutil
import tempfile
import textwrap
import unittest

from test_hook import HookCase
from test_hook_torch import TORCH

KINDS = """
import functools, itertools, random
import torch, torch.utils.data as data
from torch.utils.data import ChainDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset, get_worker_info
from torch.utils.data import get_worker_info as which
from torch.utils.data.datapipes.iter import IterableWrapper

def part_of(samples):
    info = data.get_worker_info()
    return samples if info is None else itertools.islice(samples, info.id, None, info.num_workers)

class Reader:
    def __init__(self, samples): self.samples = samples
    def __iter__(self): return iter(part_of(self.samples))

def through(function):
    @functools.wraps(function)
    def wrapped(self): yield from function(self)
    return wrapped

class Plain(IterableDataset):
    def __iter__(self):
        for i in range(4): yield torch.tensor(i)
class Asks(IterableDataset):
    def __iter__(self):
        info = which()
        yield from (torch.tensor(i) for i in range(info.id if info else 0, 4, info.num_workers if info else 1))
class AsksByHelper(IterableDataset):
    def mine(self): return part_of(range(4))
    def __iter__(self): yield from map(torch.tensor, self.mine())
class AsksByReader(IterableDataset):
    def __iter__(self): yield from map(torch.tensor, Reader(range(4)))
class HoldsReader(IterableDataset):
    def __init__(self): self.reader = Reader(range(4))
    def __iter__(self):
        for i in self.reader: yield torch.tensor(i)
class AsksThroughDecorator(IterableDataset):
    @through
    def __iter__(self): yield from map(torch.tensor, part_of(range(4)))
class Child(Asks): pass
class Over(Asks):
    def __iter__(self):
        for i in super().__iter__(): yield i
class AsksForItsNumberAlone(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        yield from map(torch.tensor, range(info.id if info else 0, 4))
class Wraps(IterableDataset):
    def __init__(self, *inner): self.inner = inner
    def __iter__(self):
        for samples in self.inner: yield from samples
class Twice(Wraps):
    def __iter__(self): return iter(part_of(itertools.chain(*self.inner)))
class GoesOn(IterableDataset):
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 4: raise StopIteration
        return torch.tensor(self.n)
def split_by_init(number):
    info = get_worker_info()
    info.dataset.start = number * 4 // info.num_workers

class Indexed(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.tensor(i)
class Zeros(Indexed):
    def __getitem__(self, i): return torch.zeros(2)
class Draws(Indexed):
    def __init__(self): self.chance = random.Random(0)
    def __getitem__(self, i): return torch.tensor(self.chance.random())
class Augments(Draws):
    def __getitem__(self, i): return torch.tensor(i + self.chance.random())
class Counts(Indexed):
    n = 0
    def __getitem__(self, i):
        self.n += 1
        return torch.tensor(self.n)
class GoesThrough(Indexed):
    def __init__(self): self.samples = itertools.cycle(range(4))
    def __getitem__(self, i): return torch.tensor(next(self.samples))
class Nested(Indexed):
    def __getitem__(self, i): return torch.tensor([i for _ in range(2)])
class Seeds(IterableDataset):
    def __iter__(self):
        chance = random.Random(3)
        for i in range(4): yield torch.tensor(chance.random())
class SeedsBy(IterableDataset):
    def __iter__(self):
        chance = random.Random(id(self))
        for i in range(4): yield torch.tensor(chance.random())
class Masks:
    def __init__(self): self.masked = random.Random(0)
    def __call__(self, batch): return torch.tensor([self.masked.random() for _ in batch])
class Loads(DataLoader):
    def __init__(self):
        self.drawn = random.Random(0)
        super().__init__(Indexed(), collate_fn=self.draw, generator=torch.Generator())
    def draw(self, batch): return torch.tensor(self.drawn.random())
pipe = IterableWrapper(range(4)).map(torch.tensor)

for loader in (
    DataLoader(Plain()), DataLoader(Asks()), DataLoader(AsksByHelper()), DataLoader(AsksByReader()), DataLoader(HoldsReader()),
    DataLoader(AsksThroughDecorator()), DataLoader(Child()), DataLoader(Over()), DataLoader(AsksForItsNumberAlone()),
    DataLoader(Wraps(Plain())), DataLoader(Wraps(Asks(), Asks())), DataLoader(Wraps(Asks(), Plain())), DataLoader(Twice(Plain())), DataLoader(Twice(Asks())),
    DataLoader(GoesOn()), DataLoader(Plain(), worker_init_fn=split_by_init), DataLoader(ChainDataset([Asks(), Asks()])), DataLoader(ChainDataset([Plain(), Plain()])),
    DataLoader(pipe), DataLoader(pipe.sharding_filter().shuffle()),
    DataLoader(Indexed()), DataLoader(Zeros()), DataLoader(Draws()), DataLoader(Augments()), DataLoader(Counts()), DataLoader(GoesThrough()), DataLoader(Nested()),
    DataLoader(Subset(Draws(), [0, 1])), DataLoader(TensorDataset(torch.zeros(4))),
    DataLoader(Seeds()), DataLoader(SeedsBy()), DataLoader(Indexed(), collate_fn=Masks()), Loads(),
):
    for batch in loader: pass
print("fine")
"""

WANT = (
    ("Plain", "none"), ("Asks", "worker-info"), ("AsksByHelper", "worker-info"), ("AsksByReader", "worker-info"), ("HoldsReader", "worker-info"),
    ("AsksThroughDecorator", "worker-info"), ("Child", "worker-info"), ("Over", "worker-info"), ("AsksForItsNumberAlone", None),
    ("Wraps", "none"), ("Wraps", "worker-info"), ("Wraps", None), ("Twice", "worker-info"), ("Twice", None),
    ("GoesOn", "own-state"), ("Plain", "worker-info"), ("ChainDataset", "worker-info"), ("ChainDataset", "none"),
    ("_IterDataPipeSerializationWrapper", "none"), ("_IterDataPipeSerializationWrapper", "sharding-filter"),
    ("Indexed", "index"), ("Zeros", "index"), ("Draws", "own-state"), ("Augments", "index"), ("Counts", "own-state"), ("GoesThrough", "own-state"), ("Nested", "index"),
    ("Subset", "own-state"), ("TensorDataset", "index"), ("Seeds", "none"), ("SeedsBy", "none"), ("Indexed", "index"), ("Indexed", "index"),
)  # fmt: skip

# Stand-ins for libraries, by the names of their modules and classes.
LIBRARIES = {
    "datasets/iterable_dataset.py": """
        from torch.utils.data import IterableDataset as Torch
        class IterableDataset(Torch):
            def __init__(self, shards): self.parts = shards
            @property
            def num_shards(self): return self.parts
            def __iter__(self): return iter(range(4))
    """,
    "webdataset/__init__.py": "",
    "webdataset/utils.py": """
        def pytorch_worker_info():
            import torch.utils.data
            info = torch.utils.data.get_worker_info()
            return 0, 1, (info.id, info.num_workers) if info else (0, 1)
    """,
    "webdataset/shardlists.py": """
        import itertools
        from torch.utils.data import IterableDataset
        from . import utils
        def split_by_worker(src):
            rank, world, (worker, num_workers) = utils.pytorch_worker_info()
            yield from itertools.islice(src, worker, None, num_workers)
        def split_by_node(src):
            rank, world, (worker, num_workers) = utils.pytorch_worker_info()
            yield from itertools.islice(src, rank, None, world)
        class SimpleShardList(IterableDataset):
            def __init__(self, urls): self.urls = urls
            def __iter__(self): return iter(self.urls)
        class ResampledShards(SimpleShardList): pass
    """,
    "webdataset/pipeline.py": """
        from torch.utils.data import IterableDataset
        class DataPipeline(IterableDataset):
            def __init__(self, *stages, nsamples=-1): self.pipeline, self.nsamples = list(stages), nsamples
            def __iter__(self): return iter(range(4))
    """,
}

OF_LIBRARIES = """
import sys
sys.path.insert(0, sys.argv[1])
from torch.utils.data import DataLoader, IterableDataset
from datasets.iterable_dataset import IterableDataset as Rows
from webdataset.pipeline import DataPipeline
from webdataset.shardlists import ResampledShards, SimpleShardList, split_by_node, split_by_worker
class Wraps(IterableDataset):
    def __init__(self, *inner): self.inner = inner
    def __iter__(self):
        for rows in self.inner: yield from rows
urls = SimpleShardList(["a.tar", "b.tar", "c.tar"])
for loader in (
    DataLoader(Rows(1)), DataLoader(Rows(8)), DataLoader(Wraps(Rows(3))), DataLoader(Wraps(Rows(3), Rows(5))),
    DataLoader(DataPipeline(urls, split_by_node, split_by_worker)), DataLoader(DataPipeline(urls, split_by_node)),
    DataLoader(DataPipeline(ResampledShards(["a.tar"]))), DataLoader(DataPipeline(ResampledShards(["a.tar"]), nsamples=100)),
):
    for batch in loader: pass
print("fine")
"""

# Workers of which three have nothing to read; a data set that the loop changes between epochs.
ENDS = """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
class OneShard(IterableDataset):
    def __iter__(self):
        if get_worker_info().id == 0:
            for i in range(12): yield torch.tensor(get_worker_info().num_workers)
class Epochs(Dataset):
    epoch = 0
    def __len__(self): return 3
    def __getitem__(self, i):
        self.seen = i
        return torch.tensor(i)
if __name__ == "__main__":
    torch.set_num_threads(1)
    print(len(list(DataLoader(OneShard(), num_workers=4))))
    for changes in (False, True):
        dataset = Epochs()
        loader = DataLoader(dataset, batch_size=1 + changes)
        for epoch in range(3):
            if changes: dataset.epoch = epoch
            for batch in loader: pass
"""


@unittest.skipUnless(TORCH, "this Python has no PyTorch (make torch)")
class Split(HookCase):
    def test_kinds(self):
        result = self.run_program(KINDS)
        self.assertEqual((result.out, result.of("warn")), ("fine\n", []))
        self.assertEqual(tuple((r["dataset"], r["split"]) for r in result.of("loader")), WANT)
        own = [(r["dataset"], *r["generators"]) for r in result.of("loader") if r["generators"]]
        self.assertEqual(own[:3], [("Draws", "chance"), ("Augments", "chance"), ("Subset", "chance")])
        self.assertEqual(own[3:], [("Seeds", "Random(3) in __iter__"), ("Indexed", "masked"), ("Indexed", "drawn")])

    def test_libraries(self):
        folder = tempfile.mkdtemp(prefix="split-")
        self.addCleanup(shutil.rmtree, folder)
        for name, text in LIBRARIES.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(textwrap.dedent(text))
        result = self.run_program(OF_LIBRARIES, args=(folder,))
        self.assertEqual((result.out, result.of("warn")), ("fine\n", []))
        want = [("datasets", 1), ("datasets", 8), ("datasets", 3), ("datasets", None), ("webdataset", 3), ("none", None), ("webdataset", None), ("per-worker", None)]
        self.assertEqual([(r["split"], r["shards"]) for r in result.of("loader")], want)

    def test_workers_without_data(self):
        result = self.run_program(ENDS)
        self.assertEqual((result.out, result.of("warn")), ("12\n", []))
        self.assertEqual([r["ended"] for r in result.of("batch") if r["loader"] == 0][-1], 3)
        self.assertEqual({r["ended"] for r in result.of("batch") if r["loader"] > 0}, {None})
        # What the fetches of an epoch change is no change by the program.
        self.assertEqual([r["loader"] for r in result.of("changes")], [2])


if __name__ == "__main__":
    unittest.main()
