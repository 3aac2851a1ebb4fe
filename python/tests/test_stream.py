"""Arrays of a stream's pictures wait between functions that can be asked again, as webdataset's stages have them."""

import importlib.util
import io
import random
import sys
import tempfile
import types
import unittest
from unittest import mock

import leash  # noqa: F401 # before what it holds

try:
    import deferred_arrays as arrays
    import deferred_pipelines as pipelines
    import numpy as np
    import torch
    from test_deferred import DeferredCase, Here

    from stoker import _arrays, _defer, _making, _pictures, _share, _stream
except ImportError:
    torch = None
    DeferredCase = unittest.TestCase

# What webdataset has by these names, in as few words as it takes.
FILTERS = """
import random, types

class FilterFunction:
    def __init__(self, f, *args, **kw):
        self.f, self.args, self.kw = f, args, kw
    def __call__(self, data):
        return self.f(data, *self.args, **self.kw)

def raising(error):
    raise error

utils = types.SimpleNamespace(identity=lambda value: value)

def _map(data, f, handler=raising):
    for sample in data:
        try:
            made = f(sample)
        except Exception as error:
            if handler(error):
                continue
            return
        yield made

def _map_tuple(data, *args, handler=raising):
    args = [each or utils.identity for each in args]
    for sample in data:
        yield tuple(f(value) for f, value in zip(args, sample))

def _map_dict(data, handler=raising, **kw):
    for sample in data:
        for key in kw:
            sample[key] = kw[key](sample[key])
        yield sample

def _to_tuple(data, *args):
    for sample in data:
        yield tuple(sample[key] for key in args)

def _select(data, predicate):
    for sample in data:
        if predicate(sample):
            yield sample

def _shuffle(data, bufsize, seed):
    chance, kept = random.Random(seed), []
    for sample in data:
        kept.append(sample)
        if len(kept) == bufsize:
            yield kept.pop(chance.randrange(bufsize))
    yield from kept

def _batched(data, batchsize, collation_fn=None):
    kept = []
    for sample in data:
        kept.append(sample)
        if len(kept) == batchsize:
            kept = collation_fn(kept) if collation_fn else kept
            yield kept
            kept = []
"""

PIPELINE = """
from torch.utils.data import IterableDataset

class DataPipeline(IterableDataset):
    def __init__(self, source, *stages):
        self.source, self.stages = source, stages
    def iterator(self):
        data = iter(self.source)
        for stage in self.stages:
            data = stage(data)
        for sample in data:
            yield sample
    def __iter__(self):
        return self.iterator()
"""


class Paths(torch.utils.data.IterableDataset if torch else object):
    def __init__(self, paths):
        self.paths = paths

    def __iter__(self):
        return iter(self.paths)


def stand_in():
    """Modules of webdataset's names."""
    made = {}
    for name, text in ((_stream._FILTERS, FILTERS), (_stream._PIPELINE, PIPELINE)):
        made[name] = types.ModuleType(name)
        exec(compile(text, name, "exec"), vars(made[name]))
    return made


@unittest.skipIf(torch is None, "needs torch and torchvision")
class StreamTest(DeferredCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name
        pipelines.make_images(cls.root)
        cls.paths = [path for path, _ in sorted(arrays.Pictures(cls.root, None).files) if path.endswith("jpg")]

    def setUp(self):
        super().setUp()
        modules = stand_in()
        self.enterContext(mock.patch.dict(sys.modules, modules))
        self.filters, self.pipeline = modules.values()
        for known in (_stream._known, _stream._passing):
            self.addCleanup(known.clear)
            known.clear()
        self.addCleanup(_arrays._refused.__setitem__, slice(None), bytes(2))
        self.here, self.said = Here(), self.enterContext(mock.patch.object(sys, "stderr", io.StringIO()))
        self.enterContext(mock.patch.object(_making.maker, "line", self.here))
        self.enterContext(mock.patch.object(_defer, "_checked", True))
        _defer._install()
        self.enterContext(mock.patch.object(_defer, "_connected", lambda: True))
        self.enterContext(mock.patch.object(_defer, "_supply", lambda count: None))
        self.asked = []
        self.enterContext(mock.patch.object(_pictures.Recording, "needed", staticmethod(self.asked.append)))

    def stage(self, name, *args, **kw):
        return self.filters.FilterFunction(getattr(self.filters, name), *args, **kw)

    def decoded(self):
        return self.stage("_map", lambda path: {"image": np.asarray(arrays.opened(path)), "name": path})

    def batches(self, stages, fed, source=None, **settings):
        torch.manual_seed(7), random.seed(7), np.random.seed(7)
        with mock.patch.object(_defer, "_everywhere", fed):
            data = self.pipeline.DataPipeline(Paths(source or self.paths[:14]), *stages)
            made = list(torch.utils.data.DataLoader(data, **{"batch_size": 4, **settings}))
        return [pipelines.hashlib.sha256(repr(arrays_of(each)).encode()).hexdigest() for each in made], torch.rand(1), random.random(), np.random.rand()

    def assertEqualFed(self, *stages, **settings):
        self.here.count.value = 0
        self.assertEqual(self.batches(stages, True, **settings), self.batches(stages, False, **settings))
        self.assertGreater(self.here.count.value, 0)

    def test_waits(self):
        """Cut out of an array of webdataset's and made a tensor: for the whole batch at once."""
        cut = self.stage("_map_tuple", lambda image: torch.from_numpy(image[10:50, 5:65].transpose(2, 0, 1).copy()), None)
        tuples, kept = self.stage("_to_tuple", "image", "name"), self.stage("_select", lambda sample: len(sample) == 2)
        self.assertEqualFed(self.decoded(), tuples, cut, kept)
        self.assertEqualFed(self.decoded(), self.stage("_map_dict", image=lambda image: image[:40, :50] / 255))
        self.assertEqualFed(self.decoded(), tuples, self.stage("_shuffle", 6, seed=3), cut)
        self.assertEqualFed(self.decoded(), tuples, cut, self.stage("_batched", 3, collation_fn=torch.utils.data.default_collate), batch_size=None)
        self.assertEqualFed(self.decoded(), self.stage("_map_dict", image=boxed))
        self.assertEqual(self.asked, [])
        self.assertEqual(self.said.getvalue(), "")

    def test_made_once(self):
        """A batch is made, and not its samples as well: nobody keeps them but the generator, the last one of each batch."""
        sized = self.stage("_map", lambda path: pipelines.F.pil_to_tensor(arrays.opened(path).resize((30, 20))))
        self.assertEqualFed(sized, self.stage("_batched", 4, collation_fn=torch.stack), batch_size=None, source=self.paths[:12])
        self.assertLessEqual(self.here.count.value, 12 + 3)

    def test_new_arrays_asked_again(self):
        """A function that takes no new array that waits turns those off alone."""

        def masked(sample):
            mask = np.zeros((9, 9), np.uint8)
            mask[2:4] = sample["name"] is not None and len(sample)
            return int(arrays.strict(mask).sum()), sample["image"][:40, :50]

        self.assertEqualFed(self.decoded(), self.stage("_map", masked))
        self.assertEqual(self.said.getvalue().count("from here on new arrays are made at once"), 1)
        self.assertFalse(_arrays.refused())

    def test_asked_again(self):
        """A function that takes no array that waits, and changes what it is given, is asked once more."""

        def strict(sample):
            image, shift = sample.pop("image"), random.randrange(9) + int(torch.randint(9, ())) + np.random.randint(9)
            return arrays.strict(image)[shift : shift + 20, :30].copy(), sample.pop("name")

        self.assertEqualFed(self.decoded(), self.stage("_map", strict))
        self.assertEqual(self.said.getvalue().count("where arrays waited, and none without"), 1)
        self.assertTrue(_arrays.refused())

    def test_asked_again_by_the_loader(self):
        self.assertEqualFed(self.decoded(), collate_fn=lambda samples: [arrays.strict(sample.pop("image")) for sample in samples])
        self.assertIn("where arrays waited", self.said.getvalue())

    def test_own_answer(self):
        """An answer that a function has to what is no array is not taken."""

        def caught(sample):
            try:
                return np.asarray(list(sample["image"])[0])[:20].copy()
            except TypeError:
                return np.zeros((20, 3), np.uint8)

        self.assertEqualFed(self.decoded(), self.stage("_map", caught))

    def test_own_errors(self):
        """A function's own error is its own, and the next sample waits."""
        errors = []

        def failing(sample):
            if sample["name"] == self.paths[2]:
                raise ValueError(f"no picture of {sample['image'].shape}")
            return sample["image"][:30, :30]

        self.assertEqualFed(self.decoded(), self.stage("_map", failing, handler=lambda error: errors.append(str(error)) or True))
        self.assertEqual(len(set(errors)), 1)
        self.assertFalse(_arrays.refused())
        self.assertLess(len(self.asked), 2)  # the one of the error, where nothing waited

    def test_stage_of_another(self):
        """What a generator of the program's own is given is real, as nobody can ask it again."""
        seen = []

        def own(data):
            for sample in data:
                seen.append(type(sample["image"]) is _arrays.LaterArray)
                yield sample["image"][:30, :30]

        self.assertEqual(self.batches([self.decoded(), own], True), self.batches([self.decoded(), own], False))
        self.assertEqual(seen, [False] * 28)

    def test_no_arrays(self):
        """Where no array is expected, random numbers are kept for no function; an array that comes late is real, and the next ones wait."""
        late = set(self.paths[9:])

        def sized(path):
            image = arrays.opened(path).resize((30, 20))
            return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy()) if path in late else pipelines.F.pil_to_tensor(image)

        self.enterContext(mock.patch.object(_arrays, "_been", set()))
        states = self.enterContext(mock.patch.object(_stream, "states", mock.Mock(side_effect=_stream.states)))
        plain = [path for path in self.paths if path not in late] * 4
        self.assertEqualFed(self.stage("_map", sized), source=plain)
        self.assertLess(states.call_count, len(plain) // 2)  # of two fetches of four, and of their batches
        self.asked.clear()
        self.assertEqualFed(self.stage("_map", sized), source=plain + sorted(late) * 3)
        self.assertLess(len(self.asked), 5)  # of the fetch that expected none

    def test_pictures_outlive(self):
        """The last picture of a batch, which generators hold, is decoded by nobody."""
        for_nobody = self.enterContext(mock.patch.object(_pictures, "by_pillow", mock.Mock(side_effect=_pictures.by_pillow)))
        opened, sized = self.stage("_map", arrays.opened), self.stage("_map", lambda image: pipelines.F.pil_to_tensor(image.resize((30, 20))))
        self.assertEqualFed(opened, sized)
        self.assertEqual(for_nobody.call_count, 0)
        pictures = [opened, self.stage("_map", lambda image: image.resize((30, 20)))]
        self.assertEqual(*(self.batches(pictures, fed, collate_fn=list, source=self.paths[:5]) for fed in (True, False)))
        self.assertEqual(for_nobody.call_count, 5)  # who gets pictures gets real ones

    def test_pictures_kept(self):
        """Pictures that a stream keeps are decoded once."""
        by_pillow = self.enterContext(mock.patch.object(_pictures, "by_pillow", mock.Mock(side_effect=_pictures.by_pillow)))
        kept = []

        def keeping(path):
            kept.append(arrays.opened(path))
            return pipelines.F.pil_to_tensor(kept[0].resize((30, 20)))

        self.assertEqual(self.batches([self.stage("_map", keeping)], True), (kept.clear(), self.batches([self.stage("_map", keeping)], False))[1])
        self.assertEqual(by_pillow.call_count, 1)

    def test_gathered(self):
        """What a collate function makes of each picture counts as whole, the last as well."""
        went = self.enterContext(mock.patch.object(_share, "all_went", mock.Mock(side_effect=_share.all_went)))

        def collate(images):
            made = torch.zeros(len(images), 3, 20, 30, dtype=torch.uint8)
            for number, image in enumerate(images):
                made[number] += torch.from_numpy(np.rollaxis(np.asarray(image, dtype=np.uint8), 2))
            return made

        class Sized(torch.utils.data.Dataset):
            __len__ = lambda data: 8
            __getitem__ = lambda data, index: arrays.opened(self.paths[index]).resize((30, 20))

        with mock.patch.object(_defer, "_everywhere", True), mock.patch.object(_making.maker, "line", Making()):
            list(torch.utils.data.DataLoader(Sized(), 4, collate_fn=collate))
        self.assertEqual({call.args[1] for call in went.call_args_list if call.args[0]}, {_share.WHOLE})
        self.assertEqual(sum(len(call.args[0]) for call in went.call_args_list), 8)


class Making(Here if torch else object):
    """In place of the daemon: makes all."""

    def __call__(self, jobs):
        for job in super().__call__(jobs):
            job.by_pillow()
        return []


def arrays_of(value):
    """What can be compared as text."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return type(value).__name__, str(value.dtype), tuple(value.shape), np.asarray(value).tobytes()
    if isinstance(value, dict):
        return {key: arrays_of(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [arrays_of(each) for each in value]
    return value.tobytes() if hasattr(value, "tobytes") else value


def boxed(image):
    """A letterbox."""
    padded = np.full((90, 120, 3), 114, np.uint8)
    padded[:40, :50] = image[:40, :50]
    return padded.transpose(2, 0, 1) / 255


@unittest.skipUnless(torch is not None and importlib.util.find_spec("webdataset"), "needs webdataset")
class WebDatasetTest(StreamTest):
    """The same with webdataset itself."""

    def setUp(self):
        import webdataset.filters
        import webdataset.pipeline

        with mock.patch(f"{__name__}.stand_in", lambda: {_stream._FILTERS: webdataset.filters, _stream._PIPELINE: webdataset.pipeline}):
            super().setUp()


if __name__ == "__main__":
    unittest.main()
