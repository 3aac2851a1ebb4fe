"""Calls of torchvision that are recorded.

    compose.py         Compose and its transforms, without the calls between them
    draws.py           the random numbers that transforms draw
    opening.py         files that pil_loader or Pillow opens
    readers.py         what torchvision.io decodes
    vision.py          transforms.v2
    vision_trials.py   small pictures that exercise every operation of v2
"""
