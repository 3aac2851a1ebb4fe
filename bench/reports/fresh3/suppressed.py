"""Overlapping boxes are removed one by one in NumPy for each picture of the evaluation (Peterisfar/YOLOV3#19)."""

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset
from torchvision.ops import batched_nms

CLASSES = 20


class VocDataset(Dataset):
    def __len__(self):
        return 16 * 60

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64)


def iou_xyxy(box, boxes):
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left_up = numpy.maximum(box[:2], boxes[:, :2])
    right_down = numpy.minimum(box[2:4], boxes[:, 2:4])
    section = numpy.maximum(right_down - left_up, 0.0)
    inter = section[:, 0] * section[:, 1]
    return inter / (area + areas - inter)


def nms(bboxes, score_threshold, iou_threshold):
    best_bboxes = []
    for cls in set(bboxes[:, 5].astype(numpy.int32)):
        cls_bboxes = bboxes[bboxes[:, 5].astype(numpy.int32) == cls]
        while len(cls_bboxes) > 0:
            max_ind = numpy.argmax(cls_bboxes[:, 4])
            best_bbox = cls_bboxes[max_ind]
            best_bboxes.append(best_bbox)
            cls_bboxes = numpy.concatenate([cls_bboxes[:max_ind], cls_bboxes[max_ind + 1 :]])
            weight = numpy.ones(len(cls_bboxes), dtype=numpy.float32)
            weight[iou_xyxy(best_bbox, cls_bboxes) > iou_threshold] = 0.0
            cls_bboxes[:, 4] = cls_bboxes[:, 4] * weight
            cls_bboxes = cls_bboxes[cls_bboxes[:, 4] > score_threshold]
    return numpy.array(best_bboxes)


def torchvision_nms(bboxes, score_threshold, iou_threshold):
    boxes = torch.from_numpy(bboxes[bboxes[:, 4] > score_threshold])
    return boxes[batched_nms(boxes[:, :4], boxes[:, 4], boxes[:, 5], iou_threshold)].numpy()


class Evaluator:
    def __init__(self, gpu, pictures=40):
        self.gpu, self.draw, self.pictures = gpu, numpy.random.default_rng(0), pictures

    def predict(self, picture):
        self.gpu.copy(picture.nbytes)
        self.gpu.launch(0.015, "darknet")
        self.gpu.item()  # .cpu()
        corners = self.draw.random((2000, 2), numpy.float32)
        scores = self.draw.random((2000, 1), numpy.float32)
        classes = self.draw.integers(0, CLASSES, (2000, 1)).astype(numpy.float32)
        return numpy.concatenate([corners, corners + 0.1, scores, classes], axis=1)

    def get_bbox(self, picture):
        return (torchvision_nms if FIX else nms)(self.predict(picture), 0.01, 0.5)

    @torch.no_grad()
    def APs_voc(self):
        found = []
        for _ in range(self.pictures):
            found.append(len(self.get_bbox(torch.zeros(3, 64, 64))))
        return found


class Trainer:
    def __init__(self):
        self.gpu = Device(spin=False)
        self.train_dataloader = DataLoader(
            VocDataset(), batch_size=16, shuffle=True, num_workers=1, pin_memory=True, persistent_workers=True,
        )

    def train(self):
        samples = 0
        while not over():
            for i, imgs in enumerate(self.train_dataloader):
                self.gpu.copy(imgs.nbytes, pinned=True, non_blocking=True)
                self.gpu.launch(0.03, "step")
                samples += len(imgs)
                if i % 10 == 0:
                    self.gpu.item()
                if over():
                    return samples
            Evaluator(self.gpu).APs_voc()
        return samples


def main():
    torch.set_num_threads(1)
    trainer = Trainer()
    done(trainer.gpu, trainer.train())


if __name__ == "__main__":
    main()
