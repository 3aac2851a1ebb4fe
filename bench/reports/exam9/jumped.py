"""A plumber learns to run to the right by deep Q-learning on the pictures of a console."""

# https://github.com/Kautenja/playing-mario-with-deep-reinforcement-learning/issues/32
# Cause: the agent asks for a picture of the whole screen in colour (rgb_array) in each frame, and nobody looks at it.
# Fix: render_mode=None: do not render.
# Line: 16, 41 to 46, 82 to 83: env.render in DeepQAgent._next_state.

import random

import cv2
import numpy
from common import FIX, done, over
from stoker.emulated import Device

HEIGHT, WIDTH, SKIP, BATCH, LEARN_EVERY = 240, 256, 4, 32, 4
RENDER_MODE = None if FIX else "rgb_array"


class NESEnv:
    """Tiles and sprites as numbers of colours; a palette makes them a picture."""

    def __init__(self):
        draw = numpy.random.default_rng(0)
        self.palette = draw.integers(0, 255, (64, 3), dtype=numpy.uint8)
        self.level = draw.integers(0, 64, (HEIGHT // 8, 4096 // 8), dtype=numpy.uint8).repeat(8, 0).repeat(8, 1)
        self.x, self.ram = 0, bytearray(2048)

    def reset(self):
        self.x = 0
        return self._observe()

    def _observe(self):
        return self.level[::2, self.x : self.x + WIDTH : 2]

    def step(self, action):
        self.x += 1 + action % 2
        self.ram[0x86] = self.x & 255
        finished = self.x + WIDTH >= self.level.shape[1]
        return self._observe(), 1.0, finished, {}

    def render(self, mode):
        """The screen as a television shows it: colours, scaled to twice the size, with dark lines."""
        screen = self.palette[self.level[:, self.x : self.x + WIDTH]]
        screen = cv2.resize(screen, (2 * WIDTH, 2 * HEIGHT), interpolation=cv2.INTER_LINEAR)
        lines = numpy.where(numpy.arange(2 * HEIGHT) % 2, 0.8, 1.0)[:, None, None].astype(numpy.float32)
        return (screen * lines).astype(numpy.uint8)


class ReplayQueue:
    def __init__(self, size=4000):
        self.size, self.queue, self.top = size, [], 0

    def push(self, *transition):
        if len(self.queue) < self.size:
            self.queue.append(transition)
        else:
            self.queue[self.top] = transition
        self.top = (self.top + 1) % self.size

    def sample(self, count):
        return [numpy.stack(part) for part in zip(*random.sample(self.queue, count), strict=True)]


class DeepQAgent:
    def __init__(self, env, gpu, render_mode):
        self.env, self.gpu, self.render_mode, self.queue = env, gpu, render_mode, ReplayQueue()
        self.frames = None

    def _downsample(self, frame):
        return cv2.resize(frame, (84, 84), interpolation=cv2.INTER_NEAREST)

    def _initial_state(self):
        frame = self._downsample(self.env.reset())
        self.frames = numpy.stack([frame] * SKIP)
        return self.frames

    def _next_state(self, action):
        """Takes the same action in some frames, and keeps each as a part of the state."""
        total, finished, frames = 0.0, False, []
        for _ in range(SKIP):
            frame, reward, finished, _ = self.env.step(action)
            if self.render_mode is not None:
                self.env.render(mode=self.render_mode)
            total += reward
            frames.append(self._downsample(frame))
            if finished:
                break
        self.frames = numpy.concatenate([self.frames, numpy.stack(frames)])[-SKIP:]
        return self.frames, total, finished

    def predict_action(self, state, exploration=0.1):
        self.gpu.copy(state.nbytes)
        self.gpu.launch(0.0006, "q values")
        self.gpu.item()
        return random.randrange(7) if random.random() < exploration else 1

    def _replay(self, s, a, r, d, s2):
        self.gpu.copy(s.nbytes + s2.nbytes)
        self.gpu.launch(0.0021, "target, q values")
        self.gpu.launch(0.0054, "huber, backward, adam")


def main():
    gpu, samples, frames, episodes = Device(spin=False), 0, 0, 0
    agent = DeepQAgent(NESEnv(), gpu, RENDER_MODE)
    while not over():
        state, finished = agent._initial_state(), False
        while not (finished or over()):
            action = agent.predict_action(state)
            after, reward, finished = agent._next_state(action)
            agent.queue.push(state, action, reward, finished, after)
            state, frames = after, frames + 1
            if frames % LEARN_EVERY == 0 and len(agent.queue.queue) >= BATCH:
                agent._replay(*agent.queue.sample(BATCH))
                samples += BATCH
        episodes += 1
        print(f"episode {episodes}: {frames} steps, loss {gpu.item():.4f}", flush=True)
    done(gpu, samples)


if __name__ == "__main__":
    main()
