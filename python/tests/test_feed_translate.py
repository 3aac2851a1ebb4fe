"""What of torchvision's transforms becomes ops for the daemon, and what does not."""

import unittest
import unittest.mock
import warnings

try:
    import torch
    from torchvision import transforms as v1
    from torchvision import tv_tensors
    from torchvision.transforms import InterpolationMode, v2

    from stoker.loader.translate import Refused, translate
except ImportError:
    torch = None

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CROP = {"op": "random_resized_crop", "size": [224, 224], "scale": [0.08, 1.0], "ratio": [0.75, 4 / 3], "filter": "bilinear"}
FLIP = {"op": "random_horizontal_flip", "p": 0.5}
FLOAT = {"op": "to_tensor"}
BYTE = {"op": "pil_to_tensor"}
NORMAL = {"op": "normalize", "mean": MEAN, "std": STD}


@unittest.skipIf(torch is None, "needs torch and torchvision")
class TranslateTest(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings()) if hasattr(self, "enterContext") else None
        warnings.simplefilter("ignore")  # of v2.ToTensor

    def assertOps(self, transforms, ops, notes=0):
        found = translate(transforms)
        self.assertEqual(found.ops, ops)
        self.assertEqual(len(found.notes), notes)

    def test_training(self):
        for v in (v1, v2):
            steps = [v.RandomResizedCrop(224), v.RandomHorizontalFlip(), v.ToTensor(), v.Normalize(MEAN, STD)]
            self.assertOps(v.Compose(steps), [CROP, FLIP, FLOAT, NORMAL])
        self.assertOps(torch.nn.Sequential(v2.RandomResizedCrop(224), v2.PILToTensor()), [CROP, BYTE])

    def test_validation(self):
        expected = [{"op": "resize", "size": [256], "filter": "bicubic"}, {"op": "center_crop", "size": [224, 224]}, FLOAT, NORMAL]
        for v in (v1, v2):
            bicubic = v.Resize(256, interpolation=InterpolationMode.BICUBIC)
            self.assertOps(v.Compose([bicubic, v.CenterCrop(224), v.ToTensor(), v.Normalize(MEAN, STD)]), expected)
            self.assertOps(v.Compose([v.Compose([bicubic]), v.Compose([v.CenterCrop([224]), v.ToTensor(), v.Normalize(MEAN, STD)])]), expected)
            capped = v.Compose([v.Resize(256, max_size=400), v.CenterCrop((8, 9)), v.PILToTensor()])
            resize = {"op": "resize", "size": [256], "filter": "bilinear", "max_size": 400}
            self.assertOps(capped, [resize, {"op": "center_crop", "size": [8, 9]}, BYTE])

    def test_v2_as_its_manual_has_it(self):
        tail = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        behind = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage(), *tail, v2.ToPureTensor()])
        self.assertOps(behind, [CROP, FLIP, FLOAT, NORMAL])
        before = v2.Compose([v2.ToImage(), v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), *tail])
        self.assertOps(before, [CROP, FLIP, FLOAT, NORMAL], notes=1)
        several = v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)
        self.assertOps(v2.Compose([v2.RandomResizedCrop(224), v2.ToImage(), several]), [CROP, FLOAT])
        self.assertOps(v2.Compose([v2.RandomResizedCrop(224), v2.ToImage(), v2.ToDtype(torch.uint8, scale=True)]), [CROP, BYTE])

    def test_order_that_does_not_matter(self):
        steps = [v1.RandomResizedCrop(224), v1.ToTensor(), v1.Normalize(MEAN, STD), v1.RandomHorizontalFlip()]
        self.assertOps(v1.Compose(steps), [CROP, FLIP, FLOAT, NORMAL])
        self.assertOps(v1.Compose([v1.RandomResizedCrop(224), v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)]), [CROP, FLOAT])

    def test_random_crop(self):
        for v in (v1, v2):
            for padding, expected in ((4, [4, 4, 4, 4]), ((1, 2), [1, 2, 1, 2]), ((1, 2, 3, 4), [1, 2, 3, 4])):
                steps = v.Compose([v.RandomCrop(32, padding=padding, pad_if_needed=True, fill=9), v.PILToTensor()])
                crop = {"op": "random_crop", "size": [32, 32], "padding": expected, "pad_if_needed": True, "fill": [9]}
                self.assertOps(steps, [crop, BYTE])
            self.assertOps(v.Compose([v.RandomCrop(32), v.PILToTensor()]), [{"op": "random_crop", "size": [32, 32]}, BYTE])

    def test_all_or_nothing(self):
        class Mine(v1.CenterCrop):
            pass

        jitter, erase = v1.ColorJitter(0.4), v1.RandomErasing()
        for steps, why in (
            ([v1.RandomResizedCrop(224), jitter, v1.ToTensor()], "ColorJitter is not known"),
            ([v1.RandomResizedCrop(224), v1.ToTensor(), v1.Normalize(MEAN, STD), erase], "RandomErasing is not known"),
            ([v1.RandomResizedCrop(224), v1.ToTensor(), v1.Normalize(MEAN, STD), v1.Normalize(MEAN, STD)], "Normalize is there twice"),
            ([v1.RandomResizedCrop(224), v1.PILToTensor(), v1.ConvertImageDtype(torch.float16)], "ConvertImageDtype converts to torch.float16"),
            ([v2.RandomResizedCrop(224), v2.ToImage(), v2.ToDtype(torch.float32)], "ToDtype has scale=False"),
            ([v1.RandomResizedCrop(224), Mine(99), v1.ToTensor()], "Mine is not known"),
            ([v1.RandomResizedCrop(224), lambda image: image], "<lambda> is not known"),
            ([v1.RandomResizedCrop(224), v1.ToTensor(), v1.CenterCrop(99)], "CenterCrop comes behind the conversion to floats"),
            ([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip()], "ends in PIL images"),
        ):
            with self.assertRaisesRegex(Refused, why):
                translate(v1.Compose(steps))

    def test_methods_of_the_programs_own(self):
        def mine(*_):
            return 0, 0, 9, 9

        for change in (
            lambda crop: setattr(crop, "get_params", mine),
            lambda crop: setattr(crop, "forward", mine),
            lambda crop: crop.register_forward_hook(mine),
        ):
            crop = v1.RandomResizedCrop(224)
            steps = v1.Compose([crop, v1.ToTensor()])
            translate(steps)
            change(crop)
            with self.assertRaisesRegex(Refused, "has a method of the program's own"):
                translate(steps)
        with unittest.mock.patch.object(v1.RandomResizedCrop, "get_params", staticmethod(mine)), self.assertRaisesRegex(Refused, "of the program's own"):
            translate(v1.Compose([v1.RandomResizedCrop(224), v1.ToTensor()]))

    def test_nothing_for_the_daemon(self):
        for steps in (
            [],
            [v1.ToTensor()],
            [v1.Resize(256), v1.ToTensor()],
            [v1.ColorJitter(0.4), v1.RandomResizedCrop(224), v1.ToTensor()],
            [v1.RandomResizedCrop(224, interpolation=InterpolationMode.NEAREST), v1.ToTensor()],
            [v1.RandomCrop(32, padding=4, padding_mode="reflect"), v1.ToTensor()],
            [v1.RandomCrop(32, padding=4, fill=(1, 2, 300)), v1.ToTensor()],
            [v1.ToTensor(), v1.RandomResizedCrop(224)],
            [v2.ToImage(), v2.RandomResizedCrop(224, antialias=False)],
            [v2.RandomCrop(32, padding=4, fill={tv_tensors.Image: 3}), v2.ToImage()],
            [v2.RandomResizedCrop(224, scale=(1.0, 0.5))],
        ):
            with self.assertRaises(Refused, msg=str(steps)):
                translate(v1.Compose(steps))
        with self.assertRaisesRegex(Refused, "different sizes"):
            translate(None)


if __name__ == "__main__":
    unittest.main()
