"""What looks at code sees the program as it is alone: coverage, TorchScript, inspect, imports by a folder's name."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import leash

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("STOKER_BIN") or os.path.join(ROOT, "bin", "stoker")

try:
    import torchvision
except ImportError:
    torchvision = None

LOADER = """
import io, sys, torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset
out = io.BytesIO()
Image.effect_noise((90, 70), 60).convert("RGB").save(out, "JPEG")

class Data(Dataset):
    transform = T.Compose([T.RandomResizedCrop(32), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
    look = staticmethod(lambda: ())
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return self.transform(Image.open(io.BytesIO(out.getvalue())).convert("RGB")), *self.look()

def main(workers=0, **more):
    return sum(batch[0].sum().item() for batch in DataLoader(Data(), 4, num_workers=workers, **more))
"""

# Notes each file of which a line runs, as coverage does: nothing counts whose name is in angle brackets.
FILES = """
import sys, threading
seen = set()
def trace(frame, event, arg):
    seen.add(frame.f_code.co_filename)
sys.settrace(trace)
threading.settrace(trace)
%s
main()
sys.settrace(None)
ours = [name for name in seen if "stoker" in name.rpartition("/tests/")[2] and not name.startswith("<")]
print(sorted(ours), file=sys.stdout)
"""

# What TorchScript compiles and inspect reads of torchvision, in the main program and in a fetch.
SCRIPTED = """
import inspect
import torchvision.transforms.functional as F
from torchvision.models import ResNet18_Weights
def scripts():
    made = []
    for name in ("normalize", "convert_image_dtype", "gaussian_blur", "pad", "resize", "adjust_hue", "rgb_to_grayscale"):
        made.append(inspect.getsource(getattr(F, name)))
        made.append(str(inspect.signature(getattr(F, name))))
        made.append(torch.jit.script(getattr(F, name)).code)
    for module in (T.Normalize([0.5], [0.5]), T.ConvertImageDtype(torch.float32), T.GaussianBlur(3), T.RandomResizedCrop(8), T.ColorJitter(0.1, 0.1, 0.1, 0.1)):
        made.append(str(torch.jit.script(module).graph)[:200])
    made.append(torch.jit.script(torch.nn.Sequential(T.ConvertImageDtype(torch.float), T.Normalize([0.5], [0.5])))(torch.zeros(3, 4, 4, dtype=torch.uint8)).sum().item())
    torch.jit.script(ResNet18_Weights.DEFAULT.transforms())
    made.append([inspect.getsource(Image.open), inspect.getsource(Image.Image.load), inspect.getsource(T.Compose.__call__), str(Image.open)])
    return made
"""


OPENCV = """
import os, sys, numpy, torch
sys.modules["cv2"] = type(sys)("cv2")  # what it reads is no picture of ours
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, index):
        return torch.from_numpy(numpy.full((40, 40, 3), index))

print(sum(1 for workers in (0, 1, 2) for batch in DataLoader(Data(), 3, num_workers=workers)), "PIL" not in sys.modules, sum("stoker-feed-stderr" in os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
"""


@unittest.skipIf(torchvision is None, "needs torch and torchvision")
@unittest.skipUnless(os.path.exists(BINARY), "needs bin/stoker (make build)")
class UnseenTest(unittest.TestCase):
    def setUp(self):
        leash.hold(self)
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def run_script(self, script, *words, way=("feed", "--")):
        """What a script prints, and what is said of its feeding."""
        path = os.path.join(self.folder, "train.py")
        with open(path, "w") as file:
            file.write(script)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"STOKER_FEED_ALWAYS": "1"}
        done = subprocess.run([*([BINARY, *way] if way else []), sys.executable, "-W", "ignore", path, *words], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_no_file_of_ours_runs(self):
        """Coverage counts none of our files as the program's."""
        for way in (("feed", "--"), ("observe", "-q", "-o", os.path.join(self.folder, "run.jsonl.gz"), "--")):
            with self.subTest(way[0]):
                printed, said = self.run_script(FILES % LOADER, way=way)
                self.assertEqual(printed.strip(), "[]")
                self.assertEqual("12 of 12 pictures whole" in said, way[0] == "feed", said)

    def test_folder_named_stoker(self):
        """A clone beside the script, or a package of the program's own with our name, hides nothing of ours nor is hidden."""
        os.mkdir(os.path.join(self.folder, "stoker"))
        for own, context in ("", "fork"), ("answer = 42\n", "spawn"):
            if own:
                with open(os.path.join(self.folder, "stoker", "__init__.py"), "w") as file:
                    file.write(own)
            with self.subTest(own=own, context=context):
                script = LOADER + f"if __name__ == '__main__':\n    main(2, multiprocessing_context={context!r})\n    import stoker\n    print(getattr(stoker, 'answer', None))\n"
                printed, said = self.run_script(script)
                self.assertEqual(printed.strip(), "42" if own else "None")
                self.assertIn("12 of 12 pictures whole", said)

    def test_opencv_alone(self):
        """Nothing of ours is loaded for pictures that OpenCV reads, neither Pillow nor a daemon."""
        printed, said = self.run_script(OPENCV)
        self.assertEqual(printed.split(), ["48", "True", "0"])
        self.assertIn("no picture of the first batches can wait", said)

    def test_torchscript_and_inspect(self):
        """Between batches, and within a fetch, of the loop itself and of a worker."""
        places = {
            "between": "main()\nprint(json.dumps(scripts()))",
            "within": "Data.look = staticmethod(lambda made=[]: (made or made.append(scripts()) or made and print(json.dumps(made[0])), 0)[1:])\nmain()",
            "worker": "Data.look = staticmethod(lambda made=[]: (made or made.append(scripts()) or made and print(json.dumps(made[0]), flush=True), 0)[1:])\nmain(1)",
        }
        scripts = {place: "import json\n" + LOADER + SCRIPTED + end + "\n" for place, end in places.items()}
        alone, _ = self.run_script(scripts["within"], way=())
        for place, script in scripts.items():
            with self.subTest(place):
                fed, said = self.run_script(script)
                self.assertEqual([self.without_addresses(line) for line in fed.splitlines()], [self.without_addresses(line) for line in alone.splitlines()])
                self.assertIn("12 of 12 pictures whole", said)

    def without_addresses(self, line):
        found = json.loads(line)
        found[-1][-1] = found[-1][-1].partition(" at 0x")[0]
        return found


if __name__ == "__main__":
    unittest.main()
