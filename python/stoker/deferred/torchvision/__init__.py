"""Calls of torchvision that record.

    compose.py         Compose and its transforms, without the way through each call
    draws.py           the random numbers that transforms draw
    opening.py         files that pil_loader or Pillow opens
    readers.py         what torchvision.io decodes
    vision.py          transforms.v2
    vision_trials.py   small pictures with every operation of v2
"""
