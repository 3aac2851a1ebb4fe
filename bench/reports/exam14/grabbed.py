"""An arm learns to reach for a target in a simulator with five cameras; its policy reads joints and poses."""

# https://github.com/stepjam/RLBench/issues/53

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device

CAMERAS = ("left_shoulder", "right_shoulder", "overhead", "wrist", "front")
SIDE, BOXES, BATCH, JOINTS, REPLAY, UPDATES = 128, 14, 256, 7, 20_000, 4


class ObservationConfig:
    """What an observation holds."""

    def __init__(self):
        self.cameras, self.joints, self.task_low_dim_state = dict.fromkeys(CAMERAS, True), True, True

    def set_all_cameras(self, value):
        self.cameras = dict.fromkeys(CAMERAS, value)


class Camera:
    """The scene's boxes, the nearest in front."""

    def __init__(self, seed):
        draw = numpy.random.default_rng(seed)
        self.boxes = draw.uniform(0.2, 0.8, (BOXES, 3))
        self.y, self.x = numpy.mgrid[0:1:SIDE * 1j, 0:1:SIDE * 1j]

    def capture(self, joints):
        depth, rgb = numpy.full((SIDE, SIDE), 9.0), numpy.zeros((SIDE, SIDE, 3), numpy.uint8)
        for number, (x, y, z) in enumerate(self.boxes + 0.01 * joints[:3]):
            here = (abs(self.x - x) < 0.1) & (abs(self.y - y) < 0.1) & (z < depth)
            depth[here], rgb[here] = z, number * 17
        return rgb, depth


class Environment:
    def __init__(self, obs_config):
        self.obs_config, self.joints = obs_config, numpy.zeros(JOINTS)
        self.sensors = {name: Camera(seed) for seed, name in enumerate(CAMERAS)}

    def step(self, action):
        for _ in range(10):
            self.joints = numpy.clip(self.joints + 0.01 * action, -1, 1)
        pictures = {name: self.sensors[name].capture(self.joints) for name, on in self.obs_config.cameras.items() if on}
        low_dim = numpy.concatenate([self.joints, numpy.sin(self.joints)]).astype(numpy.float32)
        return {"low_dim": low_dim, "pictures": pictures}, -float(abs(self.joints).sum())


class SAC:
    def __init__(self, gpu):
        self.gpu, self.replay = gpu, torch.zeros(REPLAY, 4 * JOINTS + 2)

    def act(self, observation):
        self.gpu.copy(observation["low_dim"].nbytes)
        self.gpu.launch(0.0002, "actor")
        return numpy.random.normal(size=JOINTS) + self.gpu.item()

    def update(self):
        batch = self.replay[torch.randint(0, REPLAY, (BATCH,))]
        self.gpu.copy(batch.nbytes)
        self.gpu.launch(0.0012, "critics, actor, targets")


def main():
    torch.set_num_threads(1)
    gpu, samples, step, reward = Device(spin=False, memory_used=2 << 30), 0, 0, 0.0
    obs_config = ObservationConfig()
    if FIX:
        obs_config.set_all_cameras(False)
    env, agent = Environment(obs_config), SAC(gpu)
    observation = {"low_dim": numpy.zeros(2 * JOINTS, numpy.float32)}
    while not over():
        observation, reward = env.step(agent.act(observation))
        agent.replay[step % REPLAY, : 2 * JOINTS] = torch.from_numpy(observation["low_dim"])
        for _ in range(UPDATES):
            agent.update()
        step, samples = step + 1, samples + UPDATES * BATCH
        if step % 200 == 0:
            print(f"step {step} reward {reward:.2f} critic loss {gpu.item():.3f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
