"""Horses become zebras and back: two generators, two discriminators, and a page of pictures that shows the progress."""

# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/168
# Cause: each time that pictures are shown, the whole page is read and written again, and it becomes longer and longer.
# Fix: no page, the pictures alone: "just need the images, not the html file".
# Line: 92, display_current_results in train (the work is at 63 to 65).

import os
import tempfile
import xml.etree.ElementTree as tree

import cv2
import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

VISUALS = ("real_A", "fake_B", "rec_A", "idt_A", "real_B", "fake_A", "rec_B", "idt_B")
DISPLAY_FREQ = 3


class UnalignedDataset(Dataset):
    def __init__(self, size=1067):
        self.size = size
        self.a, self.b = torch.rand(3, 286, 286), torch.rand(3, 286, 286)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        y, x = numpy.random.randint(0, 30, 2)
        return {"A": self.a[:, y : y + 256, x : x + 256].clone(), "B": self.b[:, y : y + 256, x : x + 256].flip(2)}


class Visualizer:
    """Pictures of this moment as files, and a page with all of them since training began."""

    def __init__(self, web_dir, use_html, shown_before=160):
        self.web_dir, self.use_html, self.name = web_dir, use_html, os.path.join(web_dir, "index.html")
        os.makedirs(os.path.join(web_dir, "images"))
        page = tree.Element("html")
        body = tree.SubElement(page, "body")
        for number in range(shown_before):  # training is continued
            self.add_row(body, number)
        tree.ElementTree(page).write(self.name)
        self.number = shown_before

    def add_row(self, body, number):
        tree.SubElement(body, "h3").text = f"epoch [{number}]"
        row = tree.SubElement(tree.SubElement(body, "table", border="1", style="table-layout: fixed;"), "tr")
        for label in VISUALS:
            cell = tree.SubElement(row, "td", halign="center", style="word-wrap: break-word;", valign="top")
            paragraph = tree.SubElement(cell, "p")
            link = tree.SubElement(paragraph, "a", href=f"images/epoch{number:05}_{label}.png")
            tree.SubElement(link, "img", style="width:256px", src=f"images/epoch{number:05}_{label}.png")
            tree.SubElement(paragraph, "p").text = label

    def display_current_results(self, visuals):
        for label, picture in visuals.items():
            cv2.imwrite(os.path.join(self.web_dir, "images", f"epoch{self.number:05}_{label}.png"), picture)
        if self.use_html:
            page = tree.parse(self.name)
            self.add_row(page.find("body"), self.number)
            page.write(self.name)
        self.number += 1


class CycleGANModel:
    def __init__(self, gpu):
        self.gpu, self.picture = gpu, numpy.zeros((64, 64, 3), numpy.uint8)

    def optimize_parameters(self, data):
        self.gpu.copy(data["A"].nbytes + data["B"].nbytes, pinned=True, non_blocking=True)
        self.gpu.launch(0.009, "generators")
        self.gpu.launch(0.014, "backward, adam of generators")
        self.gpu.launch(0.007, "discriminators, adam")

    def get_current_visuals(self):
        self.gpu.item()
        return {label: self.picture for label in VISUALS}


def train(gpu, visualizer):
    samples, total_iters, model = 0, 0, CycleGANModel(gpu)
    loader = DataLoader(UnalignedDataset(), 1, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True)
    while not over():
        for data in loader:
            model.optimize_parameters(data)
            total_iters, samples = total_iters + 1, samples + len(data["A"])
            if total_iters % DISPLAY_FREQ == 0:
                visualizer.display_current_results(model.get_current_visuals())
            if total_iters % 50 == 0:
                print(f"(iters: {total_iters}) G_A: {gpu.item():.3f} cycle_A: 0.000", flush=True)
            if over():
                break
    return samples


def main():
    torch.set_num_threads(1)
    gpu = Device(spin=False)
    with tempfile.TemporaryDirectory() as folder:
        samples = train(gpu, Visualizer(os.path.join(folder, "web"), use_html=not FIX))
        done(gpu, samples)


if __name__ == "__main__":
    main()
