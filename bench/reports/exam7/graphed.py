"""An agent learns from few steps at a time, and a notebook shows how it goes."""

# https://github.com/christianhidber/easyagents/issues/49
# Cause: the plots are drawn again after each iteration of training, which for this algorithm is short.
# Fix: num_iterations_between_plots, so that plots are drawn less often.
# Line: 56, draw in on_train_iteration_end of Plot (the work is at 21 to 45).

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device


class Figure:
    """Axes in a row, drawn with all that was learned so far and turned into a picture for the cell."""

    def __init__(self, names, width=480, height=360):
        self.names, self.width, self.height = names, width, height

    def draw(self, history):
        canvas = numpy.full((self.height, self.width * len(self.names), 3), 255, numpy.uint8)
        for place, name in enumerate(self.names):
            self.axis(canvas[:, place * self.width : (place + 1) * self.width], name, history[name])
        return cv2.imencode(".png", canvas, [cv2.IMWRITE_PNG_COMPRESSION, 6])[1]

    def axis(self, canvas, name, values):
        panel = numpy.full_like(canvas, 255)
        for tick in range(0, self.width, 48):
            cv2.line(panel, (tick, 0), (tick, self.height), (225, 225, 225), 1, cv2.LINE_AA)
            cv2.putText(panel, str(tick), (tick, self.height - 6), cv2.FONT_HERSHEY_SIMPLEX, 0.35, (60, 60, 60), 1, cv2.LINE_AA)
        for tick in range(0, self.height, 40):
            cv2.line(panel, (0, tick), (self.width, tick), (225, 225, 225), 1, cv2.LINE_AA)
            cv2.putText(panel, f"{tick / 40:.1f}", (4, tick), cv2.FONT_HERSHEY_SIMPLEX, 0.35, (60, 60, 60), 1, cv2.LINE_AA)
        cv2.putText(panel, name, (self.width // 3, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 1, cv2.LINE_AA)
        values = numpy.asarray(values[-3000:], numpy.float64)
        low, high = values.min(), values.max() + 1e-9
        x = numpy.linspace(40, self.width - 10, len(values))
        y = self.height - 30 - (values - low) / (high - low) * (self.height - 70)
        points = numpy.stack([x, y], 1).round().astype(numpy.int32)
        cv2.polylines(panel, [points[:, None]], False, (180, 90, 20), 2, cv2.LINE_AA)
        for column, row in points[:: max(1, len(points) // 200)]:
            cv2.circle(panel, (int(column), int(row)), 3, (40, 40, 200), -1, cv2.LINE_AA)
        numpy.copyto(canvas, cv2.GaussianBlur(panel, (3, 3), 0))


class Plot:
    def __init__(self, num_iterations_between_plots):
        self.every, self.figure = num_iterations_between_plots, Figure(["steps", "rewards", "loss"])
        self.history = {name: [] for name in self.figure.names}

    def on_train_iteration_end(self, iteration, **values):
        for name, value in values.items():
            self.history[name].append(value)
        if iteration % self.every == 0:
            return self.figure.draw(self.history)
        return None


class DqnAgent:
    def __init__(self, gpu, plot):
        self.gpu, self.plot, self.state = gpu, plot, numpy.zeros(4)

    def collect(self, steps=4):
        reward = 0.0
        for _ in range(steps):
            self.gpu.launch(0.0001, "q network")
            push = 1 if self.gpu.item() + self.state.sum() > 0 else -1
            self.state = 0.98 * self.state + 0.02 * push * numpy.array([1.0, 0.5, -1.0, 0.2]) + numpy.random.normal(0, 0.01, 4)
            reward += float(abs(self.state[2]) < 0.2)
        return reward

    def train(self):
        iteration, samples = 0, 0
        while not over():
            reward = self.collect()
            self.gpu.copy(64 * 9 * 4)
            self.gpu.launch(0.0022, "td error, adam")
            loss = self.gpu.item() + float(numpy.random.rand())
            iteration, samples = iteration + 1, samples + 64
            self.plot.on_train_iteration_end(iteration, steps=4.0, rewards=reward, loss=loss)
            if iteration % 200 == 0:
                print(f"iteration {iteration} of 20000: loss {loss:.3f}", flush=True)
        return samples


def main():
    torch.set_num_threads(1)
    cv2.setNumThreads(0)
    gpu = Device(spin=False)
    done(gpu, DqnAgent(gpu, Plot(25 if FIX else 1)).train())


if __name__ == "__main__":
    main()
