"""Data sets and loaders that are changed after the loader was made: what comes is what torch's loader gives of the same objects.

Each change is made between two epochs of both loaders, on the same data set. A picture shows the number that its file is
called by, so files, labels and order are compared with those of torch.utils.data.DataLoader itself.
"""

import os
import unittest
import unittest.mock
import warnings

try:
    import numpy as np
    import torch
    import torch.utils.data
    from PIL import Image, ImageFile
    from torch.utils.data import RandomSampler, SequentialSampler, Subset
    from torchvision import datasets
    from torchvision import transforms as T
    from torchvision.datasets import ImageFolder
    from torchvision.datasets import folder as torchvision_folder
except ImportError:
    torch = None

from feed_fixture import FeedCase

import stoker

FED, TORCHS = True, False


def numbered(path):
    """A picture of one colour: the number that its file is called by, five times."""
    Image.new("RGB", (40, 30), (int(os.path.basename(path)[:4]) * 5, 100, 200)).save(path)


def rows(dataset):
    return dataset.samples


def relabel_all(data):
    data.samples = data.imgs = [(path, label + 5) for path, label in data.samples]
    data.targets = [label for _, label in data.samples]


def rebalance(data):
    data.samples = data.imgs = data.samples[:21] + data.samples[21:24] * 7
    data.targets = [label for _, label in data.samples]


def reverse_in_place(data):
    data.samples.reverse()


def relabel_one_in_place(data):
    data.samples[3] = data.samples[3][0], 9


def shorten(data):
    data.samples = data.imgs = data.samples[5:14]


def lengthen(data):
    data.samples += data.samples[:8]


def targets_alone(data):
    data.targets = [7] * len(data.targets)  # torch's __getitem__ does not look at them


def numpy_labels(data):
    data.samples = [(path, np.int64(label + 3)) for path, label in data.samples]


def float_labels(data):
    data.samples = [(path, label / 2) for path, label in data.samples]


def text_labels(data):
    data.samples = [(path, data.classes[label]) for path, label in data.samples]


def several_labels(data):
    data.samples = [(path, (label, np.float32(0.5))) for path, label in data.samples]


def huge_labels(data):
    data.samples = [(path, label + (1 << 62)) for path, label in data.samples]


def true_labels(data):
    data.samples = [(path, label == 1) for path, label in data.samples]


def rows_as_lists(data):
    data.samples = [[path, label] for path, label in data.samples]


def another_transform(data):
    data.transform = T.Compose([T.Resize((9, 8)), T.ToTensor()])


def inside_the_transform(data):
    data.transform.transforms[0].size = (5, 5)


def one_transform_more(data):
    data.transform.transforms.insert(1, T.RandomVerticalFlip(1.0))


def an_unknown_transform(data):
    data.transform.transforms.insert(1, T.Grayscale(3))


def a_method_of_a_transform(data):
    data.transform.transforms[0].forward = lambda image: image.crop((0, 0, 3, 2))


def a_target_transform(data):
    data.target_transform = lambda label: label * 10 + 0.5


def a_loader(data):
    data.loader = lambda path: Image.new("RGB", (40, 30), (50, 0, 0))


class Shifted(ImageFolder if torch else object):
    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return image, label + 100


class Smaller(ImageFolder if torch else object):
    def __len__(self):
        return 11


class Batched(ImageFolder if torch else object):
    def __getitems__(self, indices):
        return [(self[i][0], 77) for i in indices]


class Plain(ImageFolder if torch else object):
    """As torchvision.datasets.ImageNet: other classes, the same way of reading."""

    def find_classes(self, directory):
        return ["dog", "cat"], {"dog": 0, "cat": 1}


def another_class(kind):
    def change(data):
        data.__class__ = kind

    change.__name__ = kind.__name__
    return change


CHANGES = (
    (relabel_all, FED),
    (rebalance, FED),
    (reverse_in_place, FED),
    (relabel_one_in_place, FED),
    (shorten, FED),
    (lengthen, FED),
    (targets_alone, FED),
    (numpy_labels, FED),
    (float_labels, FED),
    (text_labels, FED),
    (several_labels, FED),
    (huge_labels, FED),
    (true_labels, FED),
    (rows_as_lists, TORCHS),
    (another_transform, FED),
    (inside_the_transform, FED),
    (one_transform_more, FED),
    (an_unknown_transform, TORCHS),
    (a_method_of_a_transform, TORCHS),
    (a_target_transform, FED),
    (a_loader, TORCHS),
    (another_class(Shifted), TORCHS),
    (another_class(Smaller), TORCHS),
    (another_class(Batched), TORCHS),
    (another_class(Plain), FED),
)


@unittest.skipIf(torch is None, "needs torch and torchvision")
class ChangesTest(FeedCase):
    def setUp(self):
        super().setUp()
        self.caught = self.enterContext(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        self.root = self.images(write=numbered)

    def data(self, kind=None):
        return (kind or ImageFolder)(self.root, T.Compose([T.CenterCrop((4, 6)), T.ToTensor()]))

    def loaders(self, dataset, **settings):
        ours = stoker.DataLoader(dataset, 8, **settings)
        self.addCleanup(ours.close)
        return ours, torch.utils.data.DataLoader(dataset, 8, **settings)

    def epoch(self, loader):
        """Number of the file, shape of the picture and label of all samples, batch by batch, as the loader gives them."""
        return [self.described(loader, images, labels) for images, labels in loader]

    def described(self, loader, images, labels):
        scale = 1 if getattr(loader, "translated", False) else 255 / 5  # the fake daemon paints the number itself
        files = [round(float(image[0, 0, 0]) * scale) for image in images]
        return files, tuple(images.shape), labels.tolist() if isinstance(labels, torch.Tensor) else str(labels), getattr(labels, "dtype", type(labels))

    def assertSame(self, ours, torchs, fed):
        got, want = self.epoch(ours), self.epoch(torchs)
        self.assertEqual(got, want)
        self.assertEqual(ours.translated, fed)
        self.assertEqual(len(ours), len(torchs))
        if fed:
            self.assertTrue(ours.report["exactly_once"])

    def lines(self):
        return [str(one.message) for one in self.caught if one.category is stoker.StokerWarning]

    def test_changes_of_the_data_set(self):
        for change, fed in CHANGES:
            with self.subTest(change.__name__):
                del self.caught[:]
                data = self.data()
                ours, torchs = self.loaders(data)
                self.assertSame(ours, torchs, FED)
                change(data)
                self.assertSame(ours, torchs, fed)
                self.assertSame(ours, torchs, fed)  # and again
                self.assertEqual(len([line for line in self.lines() if "this loader is torch's own" in line]), 0 if fed else 1, self.lines())
                ours.close()

    def test_changes_before_the_first_epoch(self):
        for change, fed in CHANGES:
            with self.subTest(change.__name__):
                data = self.data()
                ours, torchs = self.loaders(data)
                change(data)
                self.assertSame(ours, torchs, fed)
                ours.close()

    def test_there_and_back(self):
        data = self.data()
        known, unknown = data.transform, T.Compose([T.Grayscale(3), T.CenterCrop((4, 6)), T.ToTensor()])
        ours, torchs = self.loaders(data)
        for transform, fed in ((known, FED), (unknown, TORCHS), (known, FED), (unknown, TORCHS)):
            data.transform = transform
            self.assertSame(ours, torchs, fed)
        self.assertEqual([packet["epoch"] for packet in self.sent("start")], [0, 1])

    def sent(self, kind):
        import json

        with open(self.log) as log:
            return [packet for packet in map(json.loads, log) if packet["type"] == kind]

    def test_nothing_is_sent_again_where_nothing_changed(self):
        data = self.data()
        for dataset in (data, Subset(data, range(10, 30))):
            ours, torchs = self.loaders(dataset)
            before = len(self.sent("open")) if os.path.exists(self.log) else 0
            for _ in range(3):
                self.assertSame(ours, torchs, FED)
            self.assertEqual(len(self.sent("open")) - before, 1)

    def test_epochs_go_on_behind_a_change(self):
        data = self.data()
        ours = stoker.DataLoader(data, 8, shuffle=True, seed=1)
        self.addCleanup(ours.close)
        orders = [sum((files for files, *_ in self.epoch(ours)), []) for _ in range(2)]
        relabel_all(data)
        orders.append(sum((files for files, *_ in self.epoch(ours)), []))
        self.assertEqual([packet["epoch"] for packet in self.sent("start")], [0, 2])
        self.assertEqual(len({tuple(order) for order in orders}), 3)
        self.assertEqual({tuple(sorted(order)) for order in orders}, {tuple(range(42))})

    def test_subsets(self):
        data = self.data()
        for change, fed in (
            (lambda subset: setattr(subset, "indices", list(range(30, 42))), FED),
            (lambda subset: subset.indices.reverse(), FED),
            (lambda subset: subset.indices.extend([-1, -42]), FED),
            (lambda subset: setattr(subset, "dataset", self.data(Plain)), FED),
            (lambda subset: setattr(subset, "dataset", Subset(data, range(20, 42))), FED),
            (lambda subset: setattr(subset, "dataset", self.data(Shifted)), TORCHS),
            (lambda subset: relabel_all(data), FED),
            (lambda subset: setattr(subset, "indices", torch.tensor([3, 1, 2])), FED),
        ):
            subset = Subset(data, list(range(0, 20)))
            ours, torchs = self.loaders(subset)
            self.assertSame(ours, torchs, FED)
            change(subset)
            self.assertSame(ours, torchs, fed)
            ours.close()

    def test_functions_that_were_replaced(self):
        original = torchvision_folder.DatasetFolder.__getitem__

        def shifted(self, index):
            image, label = original(self, index)
            return image, label + 100

        def truncated(path):
            return Image.new("RGB", (40, 30), (5, 0, 0))

        for target, name, value in (
            (torchvision_folder.DatasetFolder, "__getitem__", shifted),
            (ImageFolder, "__getitem__", shifted),
            (torchvision_folder.DatasetFolder, "__len__", lambda self: 8),
            (torchvision_folder, "pil_loader", truncated),
            (Image, "open", lambda file: Image.new("RGB", (40, 30), (5, 0, 0))),
            (ImageFile, "LOAD_TRUNCATED_IMAGES", True),
            (torch.utils.data.Subset, "__getitem__", lambda self, index: self.dataset[0]),
        ):
            with self.subTest(name):
                data = Subset(self.data(), range(42)) if target is torch.utils.data.Subset else self.data()
                ours, torchs = self.loaders(data)
                self.assertSame(ours, torchs, FED)
                with unittest.mock.patch.object(target, name, value, create=True):
                    self.assertSame(ours, torchs, TORCHS)
                self.assertSame(ours, torchs, FED)
                ours.close()

    def test_changes_of_the_loader(self):
        def last_one(samples):
            return torch.stack([samples[-1][0]]), torch.tensor([samples[-1][1]])

        for change, fed in (
            (lambda loader: setattr(loader, "collate_fn", last_one), TORCHS),
            (lambda loader: setattr(loader, "worker_init_fn", print), TORCHS),
            (lambda loader: setattr(loader, "num_workers", 0), FED),
            (lambda loader: setattr(loader.batch_sampler, "batch_size", 5), FED),
            (lambda loader: setattr(loader.batch_sampler, "drop_last", True), FED),
            (lambda loader: setattr(loader.batch_sampler, "sampler", [7, 3, 9]), TORCHS),
        ):
            ours, torchs = self.loaders(self.data())
            self.assertSame(ours, torchs, FED)
            for loader in (ours, torchs):
                change(loader)
            self.assertSame(ours, torchs, fed)
            ours.close()

    def test_what_torch_lets_nobody_set(self):
        ours, torchs = self.loaders(self.data())
        for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
            for loader in (ours, torchs):
                with self.assertRaisesRegex(ValueError, f"{name} attribute should not be set after DataLoader is initialized"):
                    setattr(loader, name, getattr(loader, name))

    def test_samplers_that_are_changed(self):
        data = self.data()
        for make, change, fed in (
            (SequentialSampler, lambda sampler: None, FED),
            (SequentialSampler, lambda sampler: setattr(sampler, "data_source", range(5)), TORCHS),
            (RandomSampler, lambda sampler: setattr(sampler, "replacement", True), TORCHS),
        ):
            sampler = make(data)
            ours = stoker.DataLoader(data, 8, sampler=sampler)
            self.addCleanup(ours.close)
            list(ours)
            change(sampler)
            list(ours)
            self.assertEqual(ours.translated, fed)
            self.assertIs(ours.sampler, sampler)

    def test_folders_that_are_entered(self):
        os.makedirs(os.path.join(self.folder, "elsewhere"))
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        data = ImageFolder("images", T.Compose([T.CenterCrop((4, 6)), T.ToTensor()]))
        ours, torchs = self.loaders(data)
        self.assertSame(ours, torchs, FED)
        os.chdir("elsewhere")
        os.symlink(self.root, "images")  # another folder of that name
        self.assertSame(ours, torchs, FED)
        roots = [packet["spec"]["root"] for packet in self.sent("open")]
        self.assertEqual(roots, [os.path.join(self.folder, "images"), os.path.join(self.folder, "elsewhere", "images")])

    def test_paths_of_all_kinds(self):
        import shutil

        other = os.path.join(self.folder, "other")
        os.makedirs(other)
        strange = [os.path.join(other, name) for name in ("0003.jpg", "0004 ä.jpg", os.fsdecode(b"0005\xff.jpg"))]
        for path in strange:
            shutil.copy(os.path.join(self.root, "cat", "0003.jpg"), path)
        link = os.path.join(self.folder, "link")
        os.symlink(other, link)
        data = self.data()
        os.mkdir(os.path.join(self.root, "up"))
        data.samples = [(path, number) for number, path in enumerate(strange)]
        data.samples += [(os.path.join(link, "..", "images", "cat", "0007.jpg"), 3), (self.root + "//cat//0008.jpg", 4), (self.root + "/up/../dog/0030.jpg", 5)]
        ours, torchs = self.loaders(data)
        labels = [label for _, labels in ours for label in labels.tolist()]
        self.assertEqual(labels, list(range(6)))
        with open(self.log) as log:
            self.assertIn("list_bytes", log.read())

    def test_image_net(self):
        self.assertTrue(issubclass(datasets.ImageNet, ImageFolder))
        data = self.data()
        data.__class__ = datasets.ImageNet
        ours, torchs = self.loaders(data)
        self.assertSame(ours, torchs, FED)


if __name__ == "__main__":
    unittest.main()
