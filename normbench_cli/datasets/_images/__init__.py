"""Machinery of the image data sets: reading, augmentation, and batches on the device.

A data set is `InMemoryImages` (small enough to keep on the device as uint8) or `StreamedImages` (read from files during
training).  Both make `ImageBatches`, which yield `ImageBatch`es epoch by epoch:

    inputs  float32 (N, C, H, W)   standardized per channel, (x / 255 - mean) / std
    labels  int64   (N,)
    groups  bool    (N, groups)    or None; an example may belong to several groups

    memory.py              uint8 splits in memory, shifted and mirrored by one gather per batch
    files.py               one image file at a time, in a worker process; damaged files and their replacements
    streaming.py           batches of image files through torch's DataLoader
    batches.py             base of both kinds of batches: the epoch's seed, the number of examples, standardization
    transforms.py          from a decoded file to a network's input: resizing, cropping, flipping
    crops.py               the arithmetic of random and central crop boxes
    class_folders.py       splits stored as a folder for each class
    digits.py              scikit-learn's digits, resized
    torchvision_compat.py  imports torchvision even if its compiled operators do not fit the installed torch

Every random choice depends only on the run's seed, the epoch and the image's index.  So batches are the same on every
device, for any number of workers, and when a run resumes in the middle of an epoch.
"""
