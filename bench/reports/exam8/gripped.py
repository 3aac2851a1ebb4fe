"""Grasps of a two-finger gripper are predicted from depth pictures of a table, as points."""

# https://github.com/NVlabs/contact_graspnet/issues/29
# Cause: with use_farthest_point the points of each scene are chosen one after the other on the CPU: 3 s became 180 s.
# Fix: choose them at random (use_farthest_point: false).
# Line: 47, farthest_points in PointCloudReader.get_scene (the loop is at 24 to 27).

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

DATA = {"raw_num_points": 6000, "num_point": 512, "use_farthest_point": not FIX, "batch_size": 3}


def distance_by_translation_point(p1, p2):
    return numpy.sqrt(numpy.sum(numpy.square(p1 - p2), axis=-1))


def farthest_points(data, nclusters):
    """Greedy: the next one is where the distance to all so far is the greatest."""
    chosen = [numpy.random.randint(len(data))]
    distances = distance_by_translation_point(data, data[chosen[0]])
    while len(chosen) < nclusters:
        far = int(numpy.argmax(distances))
        chosen.append(far)
        distances = numpy.minimum(distances, distance_by_translation_point(data, data[far]))
    return numpy.array(chosen)


class PointCloudReader:
    """Renders a scene from a random view, and cuts it down to as many points as the network takes."""

    def __init__(self, scenes=40):
        self.draw = numpy.random.default_rng(0)
        self.depths = self.draw.uniform(0.5, 1.2, (scenes, 120, 160)).astype(numpy.float32)
        self.rows, self.columns = numpy.mgrid[:120, :160].astype(numpy.float32)

    def render_scene(self, scene):
        depth = self.depths[scene] + self.draw.normal(0, 0.002, (120, 160)).astype(numpy.float32)
        cloud = numpy.stack([(self.columns - 80) * depth / 130, (self.rows - 60) * depth / 130, depth], -1).reshape(-1, 3)
        return cloud[self.draw.integers(0, len(cloud), DATA["raw_num_points"])]

    def get_scene(self, scene):
        cloud = self.render_scene(scene)
        if DATA["use_farthest_point"]:
            return cloud[farthest_points(cloud, DATA["num_point"])]
        return cloud[self.draw.choice(len(cloud), DATA["num_point"], replace=False)]

    def get_scene_batch(self):
        return numpy.stack([self.get_scene(int(s)) for s in self.draw.integers(0, len(self.depths), DATA["batch_size"])])


class ContactGraspNet:
    def __init__(self, gpu):
        self.gpu = gpu

    def run(self, clouds):
        self.gpu.copy(clouds.nbytes)
        for layer in range(4):
            self.gpu.launch(0.0016, f"set abstraction {layer}")
        self.gpu.launch(0.007, "feature propagation, heads")
        self.gpu.launch(0.018, "gradients, adam")
        return self.gpu.item()


def main():
    torch.set_num_threads(1)
    gpu, samples, step = Device(spin=False), 0, 0
    reader, net = PointCloudReader(), ContactGraspNet(gpu)
    while not over():
        clouds = reader.get_scene_batch()
        loss = net.run(clouds)
        step, samples = step + 1, samples + len(clouds)
        if step % 25 == 0:
            print(f"total loss: {loss:.6f} (step {step})", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
