"""Input pipelines of other modalities than pictures, for handover.py: most of them after a public repository, which is named.

A pipeline makes its files in a folder, unless they exist, and returns a DataLoader. torchcodec needs FFmpeg's libraries on LD_LIBRARY_PATH.
"""

import collections
import dataclasses
import io
import json
import os
import random
import tarfile

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate, get_worker_info

PIPELINES = {}
WORKERS = 2


def pipeline(title, after):
    """Register a pipeline under its title, with the repository that it follows."""

    def keep(build):
        PIPELINES[title] = (build, after)
        return build

    return keep


class Items(Dataset):
    """A data set of so many items, each read by a function of its number."""

    def __init__(self, count, read):
        self.count, self.read = count, read

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.read(index)


def load(data, batch, **settings):
    if not isinstance(data, IterableDataset) and not {"batch_sampler", "shuffle"} & settings.keys():
        settings["shuffle"] = True
    return DataLoader(data, num_workers=WORKERS, **({} if "batch_sampler" in settings else {"batch_size": batch}), **settings)


def files(folder, kind, count, write):
    """Paths of files that write(number, path) makes once."""
    os.makedirs(os.path.join(folder, kind.strip(".")), exist_ok=True)
    paths = [os.path.join(folder, kind.strip("."), f"{number:04}{kind}") for number in range(count)]
    for number, path in enumerate(paths):
        if not os.path.exists(path):
            write(number, path)
    return paths


def draw(number, *shape):
    return np.random.default_rng(number).standard_normal(shape, dtype=np.float32)


def as_is(samples):
    return samples


def columns(samples):
    return tuple(zip(*samples))


# Video


def films(folder):
    import av

    def write(number, path):
        whole = np.random.default_rng(number).integers(0, 255, (15, 20, 3), dtype=np.uint8).repeat(16, 0).repeat(16, 1)
        with av.open(path, "w") as out:
            stream = out.add_stream("libx264", rate=25, options={"g": "12", "preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for frame in range(64):
                out.mux(stream.encode(av.VideoFrame.from_ndarray(np.roll(whole, frame, 1), "rgb24")))
            out.mux(stream.encode())

    return files(folder, ".mp4", 8, write)


def decode(path, wanted):
    import av

    with av.open(path) as film:
        found = []
        for number, frame in enumerate(film.decode(video=0)):
            if number in wanted:
                found.append(frame.to_ndarray(format="rgb24"))
            if number == max(wanted):
                break
        return np.stack(found)


@pipeline("video by PyAV", "huggingface/transformers (VideoMAE)")
def video_pyav(folder):
    paths = films(folder)

    def read(i):
        start = random.randrange(32)
        clip = torch.from_numpy(decode(paths[i % 8], range(start, start + 16, 2))).permute(0, 3, 1, 2) / 255
        return {"video": torch.nn.functional.interpolate(clip, 224).permute(1, 0, 2, 3), "label": i}

    def collate(samples):
        return {"pixel_values": torch.stack([each["video"].permute(1, 0, 2, 3) for each in samples]), "labels": torch.tensor([each["label"] for each in samples])}

    return load(Items(128, read), 4, collate_fn=collate)


@pipeline("video by torchcodec", "meta-pytorch/torchcodec")
def video_torchcodec(folder):
    from torchcodec.decoders import VideoDecoder

    paths = films(folder)

    def read(i):
        start = random.randrange(48)
        return VideoDecoder(paths[i % 8], num_ffmpeg_threads=1).get_frames_in_range(start, start + 16)  # frames with their times

    return load(Items(128, read), 4, collate_fn=as_is)


@pipeline("video, slow and fast path", "facebookresearch/SlowFast")
def video_paths(folder):
    paths = films(folder)

    def read(i):
        frames = torch.from_numpy(decode(paths[i % 8], range(16))).float().div_(255).permute(3, 0, 1, 2)[:, :, 8:232, 48:272]
        slow = torch.index_select(frames, 1, torch.linspace(0, 15, 4).long())
        return [slow, frames], i % 5, i, np.array([0]), {}

    return load(Items(48, read), 2)


@pipeline("windows over one video", "open-mmlab/mmaction2 (test clips)")
def video_windows(folder):
    paths = films(folder)

    def read(i):
        video = torch.from_numpy(decode(paths[i % 8], range(24)))
        return [video[start : start + 8] for start in range(0, 17, 4)], i

    return load(Items(80, read), 2, collate_fn=as_is)


@pipeline("robot episodes", "huggingface/lerobot")
def robot(folder):
    import datasets
    from torchcodec.decoders import VideoDecoder

    datasets.disable_progress_bars()
    paths = films(folder)
    rows = [{"episode_index": e, "frame_index": f, "timestamp": f / 25, "observation.state": draw(e * 64 + f, 14).tolist()} for e in range(8) for f in range(64)]
    table = datasets.Dataset.from_list([{**row, "action": row["observation.state"], "task_index": 0} for row in rows])
    table.set_transform(lambda batch: {key: [torch.tensor(value) for value in values] for key, values in batch.items()})

    def read(i):
        item = table[i * 5]
        episode, frame = item["episode_index"].item(), item["frame_index"].item()
        ahead = [min(frame + k, 63) for k in range(50)]
        item["action"] = torch.stack(table[[episode * 64 + k for k in ahead]]["action"])
        item["action_is_pad"] = torch.tensor([frame + k > 63 for k in range(50)])
        frames = VideoDecoder(paths[episode], seek_mode="approximate", num_ffmpeg_threads=1).get_frames_at([max(frame - 5, 0), frame]).data
        return {**item, "observation.images.top": frames.float() / 255, "task": "lift the cube"}

    return load(Items(100, read), 4)


# Audio


def sounds(folder, kind=".wav", count=16):
    import soundfile

    return files(folder, kind, count, lambda number, path: soundfile.write(path, 0.1 * draw(number, 80000 + 400 * number), 16000))


@pipeline("mels of segments", "jik876/hifi-gan")
def hifigan(folder):
    from scipy.io.wavfile import read as read_wave

    paths, basis, window = sounds(folder), torch.rand(80, 513), torch.hann_window(1024)

    def mel(y):
        y = torch.nn.functional.pad(y.unsqueeze(1), (384, 384), mode="reflect").squeeze(1)
        found = torch.stft(y, 1024, 256, 1024, window, center=False, return_complex=True).abs()
        return torch.log(torch.clamp(basis @ found, min=1e-5))

    def read(i):
        audio = torch.FloatTensor(read_wave(paths[i % 16])[1] / 32768.0).unsqueeze(0)
        start = random.randint(0, audio.size(1) - 8192)
        audio = audio[:, start : start + 8192]
        return mel(audio).squeeze(), audio.squeeze(0), paths[i % 16], mel(audio).squeeze()

    return load(Items(640, read), 16, drop_last=True)


@pipeline("waves of a fixed length", "lucidrains/audiolm-pytorch")
def waves(folder):
    import soundfile

    paths = sounds(folder)

    def read(i):
        wave, rate = soundfile.read(paths[i % 16], dtype="float32", always_2d=True)
        wave = torch.from_numpy(wave.T)
        return (wave - wave.mean())[:, :80000], torch.zeros(527).scatter_(0, torch.tensor([i % 527]), 1.0), rate

    return load(Items(960, read), 32)


@pipeline("filter banks by torchaudio", "YuanGongND/ast")
def fbanks(folder):
    import soundfile
    import torchaudio

    paths = sounds(folder)

    def read(i):
        wave = torch.from_numpy(soundfile.read(paths[i % 16], dtype="float32")[0])[None]
        bank = torchaudio.compliance.kaldi.fbank(wave, htk_compat=True, sample_frequency=16000, window_type="hanning", num_mel_bins=128, dither=0.0, frame_shift=10)
        bank = torch.nn.ZeroPad2d((0, 0, 0, 1024 - bank.shape[0]))(bank)
        return (bank + 4.2) / 9, torch.FloatTensor(np.zeros(527))

    return load(Items(192, read), 12)


@pipeline("librosa, in decibels", "librosa/librosa (gallery)")
def decibels(folder):
    import librosa

    paths = sounds(folder)

    def read(i):
        wave, rate = librosa.load(paths[i % 16], sr=None)
        mel = librosa.feature.melspectrogram(y=wave[:80000], sr=rate, n_mels=64)
        return librosa.power_to_db(mel).astype(np.float32)[None], i % 10

    return load(Items(128, read), 8)


@pipeline("ragged waves, padded", "pytorch/audio (speech commands)")
def padded_waves(folder):
    import soundfile

    paths = sounds(folder)

    def collate(samples):
        waves = pad_sequence([wave.t() for wave, *_ in samples], batch_first=True, padding_value=0.0).permute(0, 2, 1)
        return waves, torch.stack([torch.tensor(label) for _, label, _ in samples]), [text for _, _, text in samples]

    return load(Items(640, lambda i: (torch.from_numpy(soundfile.read(paths[i % 16], dtype="float32")[0])[None], i % 35, "yes")), 16, collate_fn=collate)


@pipeline("HDF5 of waves, arrays in dicts", "qiuqiangkong/audioset_tagging_cnn")
def audioset(folder):
    import h5py

    def write(_, path):
        with h5py.File(path, "w") as out:
            out["waveform"] = (3000 * draw(3, 64, 64000)).astype(np.int16)
            out["target"] = np.zeros((64, 527), bool)
            out["audio_name"] = np.array([b"Y%d.wav" % i for i in range(64)])

    (path,) = files(folder, ".waves.h5", 1, write)

    class Waves:
        def __getitem__(self, meta):
            with h5py.File(meta["hdf5_path"], "r") as file:
                at = meta["index_in_hdf5"]
                wave = (file["waveform"][at] / 32767.0).astype(np.float32)
                return {"audio_name": file["audio_name"][at].decode(), "waveform": wave, "target": file["target"][at].astype(np.float32)}

    def collate(samples):
        return {key: np.array([each[key] for each in samples]) for key in samples[0]}

    metas = [[{"hdf5_path": path, "index_in_hdf5": (i + 7 * k) % 64} for k in range(32)] for i in range(30)]
    return load(Waves(), 32, batch_sampler=metas, collate_fn=collate)


@pipeline("`datasets` with audio, padded features", "huggingface/transformers (Whisper)")
def whisper(folder):
    import datasets
    from transformers import BatchFeature

    datasets.disable_progress_bars()
    table = datasets.Dataset.from_dict({"audio": sounds(folder, ".flac"), "sentence": ["a sentence"] * 16}).cast_column("audio", datasets.Audio(16000))

    def read(i):
        wave = np.asarray(table[i % 16]["audio"]["array"], dtype=np.float32)
        return {"input_features": torch.from_numpy(wave[: len(wave) // 80 * 80].reshape(80, -1)), "labels": list(range(5 + i % 9))}

    def collate(samples):
        batch = BatchFeature({"input_features": pad_sequence([each["input_features"].t() for each in samples], True).transpose(1, 2)})
        labels = pad_sequence([torch.tensor(each["labels"]) for each in samples], True)
        batch["labels"] = labels.masked_fill(labels.eq(0), -100)
        return batch

    return load(Items(96, read), 8, collate_fn=collate)


@pipeline("WebDataset of FLAC", "LAION-AI/CLAP")
def clap(folder):
    import soundfile
    import webdataset

    def write(number, path):
        with tarfile.open(path, "w") as out:
            for i, sound in enumerate(sounds(folder, ".flac")):
                text = json.dumps({"text": [f"sound {i}"], "tag": [str(number)]}).encode()
                for name, content in ((f"{i:04}.flac", open(sound, "rb").read()), (f"{i:04}.json", text)):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    out.addfile(member, io.BytesIO(content))

    shards = files(folder, ".tar", 4, write)

    def preprocess(sample):
        wave = torch.tensor(soundfile.read(io.BytesIO(sample["flac"]))[0]).float()
        return {"waveform": wave[:80000], "longer": torch.tensor([len(wave) > 80000]), "text": json.loads(sample["json"])["text"][0], "url": sample["__url__"]}

    data = webdataset.WebDataset(shards * 8, shardshuffle=False).map(preprocess).batched(16, collation_fn=default_collate, partial=False)
    return webdataset.WebLoader(data, batch_size=None, shuffle=False, num_workers=WORKERS)


# Files of arrays


@pipeline("latents of two npy", "chuanyangjin/fast-DiT")
def latents(folder):
    features = files(folder, ".latent.npy", 128, lambda number, path: np.save(path, draw(number, 1, 4, 32, 32)))
    labels = files(folder, ".label.npy", 128, lambda number, path: np.save(path, np.array([number])))
    return load(Items(4096, lambda i: (torch.from_numpy(np.load(features[i % 128])), torch.from_numpy(np.load(labels[i % 128])))), 128, drop_last=True)


@pipeline("latents of npz, prompts beside", "kohya-ss/sd-scripts")
def sd_scripts(folder):
    paths = files(folder, ".npz", 64, lambda number, path: np.savez(path, latents=draw(number, 4, 128, 128), original_size=np.array([1024, 1024]), crop=np.zeros(4)))

    def read(i):
        found = np.load(paths[i % 64])
        flipped = found["latents"][:, :, ::-1].copy() if random.random() < 0.5 else found["latents"]
        return {"latents": torch.FloatTensor(flipped), "caption": f"a picture {i}", "size": tuple(found["original_size"].tolist()), "images": None}

    def collate(samples):
        batch = {"latents": torch.stack([each["latents"] for each in samples]), "captions": [each["caption"] for each in samples], "images": None}
        return {**batch, "sizes": torch.stack([torch.LongTensor(each["size"]) for each in samples]), "loss_weights": torch.FloatTensor([1.0] * len(samples))}

    return load(Items(512, read), 16, collate_fn=collate)


@pipeline("cached bfloat16 and float8 of safetensors", "kohya-ss/musubi-tuner")
def safetensors(folder):
    from safetensors.torch import load_file, save_file

    def write(number, path):
        text = torch.from_numpy(draw(number, 512, 1024)).to(torch.bfloat16)
        save_file({"text": text, "latents": torch.from_numpy(draw(number, 16, 8, 32, 32)).to(torch.float8_e4m3fn), "mask": torch.ones(512, dtype=torch.bool)}, path)

    paths = files(folder, ".safetensors", 16, write)

    def collate(samples):
        return {key: torch.stack([each[key] for each in samples]) for key in samples[0]}

    return load(Items(320, lambda i: load_file(paths[i % 16])), 8, collate_fn=collate)


@pipeline("patches of memory-mapped volumes", "MIC-DKFZ/nnUNet")
def nnunet(folder):
    paths = files(folder, ".volume.npy", 4, lambda number, path: np.save(path, draw(number, 1, 128, 128, 128)))

    def read(i):
        volume = np.load(paths[i % 4], mmap_mode="r")
        z, y, x = (random.randrange(32) for _ in range(3))
        data = np.pad(volume[:, z : z + 96, y : y + 96, x : x + 96], ((0, 0), (0, 0), (4, 4), (0, 0)))
        return {"data": torch.from_numpy(data), "target": torch.from_numpy(data > 1).to(torch.int16), "keys": f"case_{i}", "properties": {"spacing": (1.0, 0.5, 0.5)}}

    def collate(samples):
        return {"data": torch.stack([each["data"] for each in samples]), "target": [each["target"] for each in samples], "keys": [each["keys"] for each in samples]}

    return load(Items(80, read), 4, collate_fn=collate)


@pipeline("NIfTI, four crops of a volume", "Project-MONAI/tutorials")
def nifti(folder):
    import nibabel

    paths = files(folder, ".nii", 6, lambda number, path: nibabel.save(nibabel.Nifti1Image((100 * draw(number, 96, 96, 96)).astype(np.int16), np.eye(4)), path))

    def read(i):
        volume = torch.from_numpy(nibabel.load(paths[i % 6]).get_fdata(dtype=np.float32))[None]
        starts = [[random.randrange(32) for _ in range(3)] for _ in range(4)]
        return [{"image": volume[:, a : a + 64, b : b + 64, c : c + 64], "label": volume[:, a : a + 64, b : b + 64, c : c + 64] > 0} for a, b, c in starts]

    return load(Items(60, read), 2, collate_fn=lambda samples: default_collate([crop for each in samples for crop in each]))


@pipeline("DICOM slices, windowed", "mlmed/torchxrayvision")
def dicom(folder):
    import pydicom
    from pydicom.dataset import FileMetaDataset

    def write(number, path):
        data = pydicom.Dataset()
        data.Rows = data.Columns = 256
        data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation, data.SamplesPerPixel = 16, 12, 11, 1, 1
        data.PhotometricInterpretation, data.RescaleSlope, data.RescaleIntercept = "MONOCHROME2", 1, -1024
        data.SOPClassUID, data.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.2", f"1.2.{number + 1}"
        data.PixelData = np.random.default_rng(number).integers(0, 2000, (256, 256), dtype=np.int16).tobytes()
        data.file_meta = FileMetaDataset()
        data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
        data.save_as(path, enforce_file_format=True)

    paths = files(folder, ".dcm", 16, write)

    def read(i):
        found = pydicom.dcmread(paths[i % 16])
        units = found.pixel_array * float(found.RescaleSlope) + float(found.RescaleIntercept)
        windows = [np.clip((units - low) / (high - low), 0, 1) for low, high in ((0, 80), (-20, 180), (-150, 230))]
        return torch.tensor(np.stack(windows).astype(np.float32)), torch.zeros(6)

    return load(Items(320, read), 16)


@pipeline("complex k-space of HDF5, named tuples", "facebookresearch/fastMRI")
def fastmri(folder):
    import h5py

    def write(number, path):
        with h5py.File(path, "w") as out:
            out["kspace"] = draw(number, 8, 256, 160) + 1j * draw(number + 9, 8, 256, 160)
            out["reconstruction_esc"] = draw(number, 8, 160, 160)
            out.attrs["max"] = 3.0

    paths = files(folder, ".mri.h5", 4, write)

    def read(i):
        with h5py.File(paths[i % 4], "r") as file:
            kspace, target, attrs = file["kspace"][i % 8], file["reconstruction_esc"][i % 8], dict(file.attrs)
        kspace = torch.from_numpy(kspace)
        mask = torch.rand(1, 160) < 0.3
        image = torch.fft.ifft2(kspace * mask)
        return Sample(kspace, mask, image[48:208].abs(), torch.from_numpy(target), f"file{i}", i, attrs["max"])

    return load(Items(320, read), 8)


Sample = collections.namedtuple("Sample", "kspace mask image target fname slice_num max_value")


@pipeline("HDF5 demonstrations, items kept", "ARISE-Initiative/robomimic")
def robomimic(folder):
    import h5py

    def write(_, path):
        with h5py.File(path, "w") as out:
            for demo in range(4):
                out[f"data/demo_{demo}/obs/image"] = np.random.default_rng(demo).integers(0, 255, (40, 84, 84, 3), dtype=np.uint8)
                out[f"data/demo_{demo}/actions"] = draw(demo, 40, 7)

    (path,) = files(folder, ".demo.h5", 1, write)
    with h5py.File(path, "r") as file:
        demos = [(file[f"data/demo_{demo}/obs/image"][()], file[f"data/demo_{demo}/actions"][()]) for demo in range(4)]

    def item(i):
        images, actions = demos[i % 4]
        at = i % 30
        return {"obs": {"image": np.moveaxis(images[at : at + 10], -1, 1).astype(np.float32) / 255}, "actions": actions[at : at + 10], "index": i}

    cache = [item(i) for i in range(64)]
    return load(Items(640, lambda i: cache[i % 64]), 16, drop_last=True)


@pipeline("zarr replay buffer, float64 pictures", "real-stanford/diffusion_policy")
def diffusion_policy(folder):
    import zarr

    path = os.path.join(folder, "replay.zarr")
    if not os.path.exists(path):
        root = zarr.open_group(path, mode="w")
        root.create_array("img", data=np.random.default_rng(3).integers(0, 255, (200, 96, 96, 3)).astype(np.float32), chunks=(50, 96, 96, 3))
        root.create_array("state", data=draw(4, 200, 5))
    root = zarr.open_group(path, mode="r")
    images, states = root["img"][:], root["state"][:]

    def read(i):
        at = i % 184
        data = {"obs": {"image": np.moveaxis(images[at : at + 16], -1, 1) / 255.0, "agent_pos": states[at : at + 16, :2].astype(np.float32)}, "action": states[at : at + 16, 2:4]}
        return {key: {name: torch.from_numpy(part) for name, part in value.items()} if isinstance(value, dict) else torch.from_numpy(value) for key, value in data.items()}

    return load(Items(640, read), 16, persistent_workers=True)


# Tokens and text


@pipeline("tokens, two views of a chunk", "Lightning-AI/litgpt")
def litgpt(folder):
    (path,) = files(folder, ".bin", 1, lambda number, path: np.random.default_rng(3).integers(0, 50257, 1_000_000, dtype=np.uint16).tofile(path))

    def read(i):
        tokens = torch.from_numpy(np.memmap(path, np.uint16, "r")[i * 100 : i * 100 + 4097].astype(np.int64))
        return tokens[:-1], tokens[1:]

    return load(Items(2048, read), 8, collate_fn=as_is)


@pipeline("instructions, padded, bool masks", "tatsu-lab/stanford_alpaca")
def alpaca(folder):
    texts = [torch.arange(50 + 37 * k % 900) for k in range(64)]

    def collate(samples):
        ids = pad_sequence([each["input_ids"] for each in samples], batch_first=True, padding_value=0)
        labels = pad_sequence([each["labels"] for each in samples], batch_first=True, padding_value=-100)
        return {"input_ids": ids, "labels": labels, "attention_mask": ids.ne(0)}

    return load(Items(2048, lambda i: {"input_ids": texts[i % 64], "labels": texts[i % 64]}), 16, collate_fn=collate)


@pipeline("ids and labels are one tensor", "")
def one_tensor(folder):
    def read(i):
        ids = torch.arange(i, i + 8192)
        return {"input_ids": ids, "labels": ids, "position_ids": torch.arange(8192), "loss_mask": torch.ones(8192)}

    return load(Items(1024, read), None, collate_fn=None)


@pipeline("bags of words with offsets", "pytorch/tutorials (AG_NEWS)")
def bags(folder):
    def collate(samples):
        lengths = [0] + [len(text) for text, _ in samples]
        return torch.tensor([label for _, label in samples]), torch.cat([text for text, _ in samples]), torch.tensor(lengths[:-1]).cumsum(0)

    return load(Items(8192, lambda i: (torch.arange(20 + i % 90), i % 4)), 64, collate_fn=collate)


@pipeline("`datasets` of tokens, as torch", "huggingface/trl")
def hub_tokens(folder):
    import datasets

    table = datasets.Dataset.from_dict({"input_ids": np.arange(512 * 1024).reshape(512, 1024), "attention_mask": np.ones((512, 1024), np.int8)}).with_format("torch")
    return load(table, 16)


@pipeline("text in lists", "UKPLab/sentence-transformers")
def text(folder):
    return load(Items(20000, lambda i: {"anchor": f"a question {i} " * 8, "positive": "an answer " * 20, "score": i / 20000}), 64, collate_fn=as_is)


# Points, graphs, tables


@pipeline("point clouds, arrays joined", "open-mmlab/OpenPCDet")
def points(folder):
    paths = files(folder, ".points", 16, lambda number, path: draw(number, 20000 + 100 * number, 4).tofile(path))

    def read(i):
        points = np.fromfile(paths[i % 16], dtype=np.float32).reshape(-1, 4)
        points = points[np.abs(points[:, 0]) < 2]
        return {"points": points[np.random.permutation(len(points))], "gt_boxes": draw(i, i % 9, 8), "frame_id": f"{i:06}", "use_lead_xyz": True}

    def collate(samples):
        boxes = np.zeros((len(samples), max(len(each["gt_boxes"]) for each in samples), 8), np.float32)
        for k, each in enumerate(samples):
            boxes[k, : len(each["gt_boxes"])] = each["gt_boxes"]
        joined = np.concatenate([np.pad(each["points"], ((0, 0), (1, 0)), constant_values=k) for k, each in enumerate(samples)])
        return {"points": joined, "gt_boxes": boxes, "frame_id": np.array([each["frame_id"] for each in samples]), "batch_size": len(samples)}

    return load(Items(320, read), 8, collate_fn=collate)


@pipeline("point clouds in memory", "yanx27/Pointnet_Pointnet2_pytorch")
def modelnet(folder):
    clouds = draw(1, 128, 2048, 3)

    def read(i):
        angle = random.random()
        turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        return np.dot(clouds[i % 128], turn), np.int64(i % 40)

    return load(Items(2048, read), 32)


@pipeline("graphs", "pyg-team/pytorch_geometric")
def graphs(folder):
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader as Graphs

    kept = [
        Data(x=torch.from_numpy(draw(k, 200 + k, 16)), edge_index=torch.randint(0, 200, (2, 900)), edge_attr=torch.from_numpy(draw(k, 900, 4)), y=torch.tensor([k % 2]), smiles="CCO")
        for k in range(128)
    ]
    return Graphs(Items(1024, lambda i: kept[i % 128].clone()), batch_size=32, shuffle=True, num_workers=WORKERS)


@pipeline("graphs kept, not joined", "facebookresearch/fairchem")
def graph_lists(folder):
    from torch_geometric.data import Data

    kept = [Data(pos=torch.from_numpy(draw(k, 5000, 3)), atomic_numbers=torch.full((5000,), 6), energy=1.5, sid=k) for k in range(32)]
    return load(Items(512, lambda i: kept[i % 32]), 8, collate_fn=as_is)


@pipeline("a table's rows by pandas", "manujosephv/pytorch_tabular")
def table(folder):
    import pandas

    frame = pandas.DataFrame({**{f"c{k}": np.arange(2000) % (k + 2) for k in range(6)}, **{f"x{k}": draw(k, 2000) for k in range(20)}, "y": np.arange(2000.0)})
    kinds, numbers = frame[[f"c{k}" for k in range(6)]].values, frame[[f"x{k}" for k in range(20)]].values.astype(np.float32)
    return load(Items(20000, lambda i: {"categorical": kinds[i % 2000], "continuous": numbers[i % 2000], "target": frame["y"].iloc[i % 2000]}), 512)


@pipeline("Parquet by row groups, frames and read-only arrays", "uber/petastorm")
def parquet(folder):
    import pandas
    import pyarrow.parquet

    frame = pandas.DataFrame({**{f"x{k}": draw(k, 100_000) for k in range(16)}, "id": np.arange(100_000)})
    (path,) = files(folder, ".parquet", 1, lambda number, path: frame.to_parquet(path, row_group_size=5000))

    class Groups(IterableDataset):
        def __iter__(self):
            file, info = pyarrow.parquet.ParquetFile(path), get_worker_info()
            for group in list(range(file.num_row_groups)) * 3:
                if group % info.num_workers == info.id:
                    found = file.read_row_group(group)
                    yield {name: found[name].chunk(0).to_numpy() for name in found.column_names}, found.to_pandas()

    return load(Groups(), None)


@pipeline("click logs, ragged columns", "facebookresearch/dlrm")
def dlrm(folder):
    def collate(samples):
        dense = torch.log(torch.tensor([each[0] for each in samples], dtype=torch.float) + 1)
        ids = [torch.cat([each[1][k] for each in samples]) for k in range(26)]
        offsets = torch.stack([torch.tensor([0] + [len(each[1][k]) for each in samples[:-1]]).cumsum(0) for k in range(26)])
        return dense, offsets, ids, torch.tensor([[each[2]] for each in samples])

    return load(Items(2048, lambda i: (list(range(13)), [torch.arange(1 + (i + k) % 5) for k in range(26)], i % 2)), 128, collate_fn=collate)


@pipeline("windows of a series", "thuml/Time-Series-Library")
def series(folder):
    values, marks = draw(1, 20000, 64).astype(np.float64), draw(2, 20000, 4)
    return load(Items(4096, lambda i: (values[i : i + 96], values[i + 48 : i + 192], marks[i : i + 96], marks[i + 48 : i + 192])), 32, drop_last=True)


@pipeline("rays", "kwea123/nerf_pl")
def rays(folder):
    all_rays, colours = torch.from_numpy(draw(1, 40000, 8)), torch.from_numpy(draw(2, 40000, 3))
    return load(Items(40000, lambda i: {"rays": all_rays[i], "rgbs": colours[i]}), 2048)


@pipeline("collocation points that require gradients", "")
def collocation(folder):
    return load(Items(1024, lambda i: (torch.from_numpy(draw(i, 20000, 2)).requires_grad_(), torch.from_numpy(draw(i, 20000, 1)))), None, collate_fn=None)


# Detection, masks, flow: not pictures that are decoded


@pipeline("detection, nested tensors and targets without boxes", "facebookresearch/detr")
def detr(folder):
    def read(i):
        count = i % 3
        target = {"boxes": torch.zeros(count, 4), "labels": torch.zeros(count, dtype=torch.int64), "masks": torch.zeros(count, 320, 400, dtype=torch.bool), "image_id": torch.tensor([i])}
        return torch.from_numpy(draw(i % 8, 3, 320, 400 - 16 * (i % 5))), target

    def collate(samples):
        pictures, targets = zip(*samples)
        tensors, mask = torch.zeros(len(pictures), 3, 320, 400), torch.ones(len(pictures), 320, 400, dtype=torch.bool)
        for k, each in enumerate(pictures):
            tensors[k, :, :, : each.shape[2]].copy_(each)
            mask[k, :, : each.shape[2]] = False
        return NestedTensor(tensors, mask), targets

    return load(Items(240, read), 4, collate_fn=collate)


class NestedTensor:
    def __init__(self, tensors, mask):
        self.tensors, self.mask = tensors, mask


@pipeline("boxes and masks as tensors of torchvision's own", "pytorch/vision (v2)")
def tv_tensors_(folder):
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    steps = v2.Compose([v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes()])

    def read(i):
        picture = tv_tensors.Image(torch.randint(0, 255, (3, 240, 320), dtype=torch.uint8))
        boxes = tv_tensors.BoundingBoxes(torch.tensor([[10, 10, 60, 70], [30, 20, 90, 100]]), format="XYXY", canvas_size=(240, 320))
        return steps(picture, {"boxes": boxes, "labels": torch.tensor([1, 2]), "masks": tv_tensors.Mask(torch.zeros(2, 240, 320, dtype=torch.bool))})

    return load(Items(320, read), 8, collate_fn=columns)


@pipeline("flow, permuted", "princeton-vl/RAFT")
def raft(folder):
    paths = files(folder, ".flo", 8, lambda number, path: draw(number, 240, 320, 2).tofile(path))

    def read(i):
        flow = np.fromfile(paths[i % 8], np.float32).reshape(240, 320, 2)
        pictures = [(np.abs(flow) * 40).astype(np.uint8).repeat(2, 2)[..., :3] for _ in range(2)]
        first, second = (torch.from_numpy(each).permute(2, 0, 1).float() for each in pictures)
        flow = torch.from_numpy(flow).permute(2, 0, 1).float()
        return first, second, flow, ((flow[0].abs() < 1000) & (flow[1].abs() < 1000)).float()

    return load(Items(320, read), 8)


@pipeline("label maps of PNGs, channels last", "mcordts/cityscapesScripts")
def cityscapes(folder):
    from PIL import Image

    def write(number, path):
        Image.fromarray(np.random.default_rng(number).integers(0, 34, (32, 64), dtype=np.uint8).repeat(8, 0).repeat(8, 1)).save(path)

    paths = files(folder, ".png", 16, write)

    def read(i):
        label = np.array(Image.open(paths[i % 16]), dtype=np.uint8)
        return torch.from_numpy(np.stack([label] * 3)).float(), torch.from_numpy(label).long(), torch.from_numpy(label[None] == np.arange(19)[:, None, None])

    def collate(samples):
        pictures, labels, masks = map(torch.stack, zip(*samples))
        return pictures.contiguous(memory_format=torch.channels_last), labels, masks.transpose(2, 3)

    return load(Items(256, read), 8, collate_fn=collate)


# Other batches


@pipeline("NumPy's arrays of torch's batches", "jax-ml/jax (data loading)")
def jax(folder):
    pictures = (50 * np.abs(draw(1, 64, 3, 96, 96))).astype(np.uint8)

    def collate(samples):
        return [np.asarray(each) for each in default_collate(samples)]

    return load(Items(2048, lambda i: (np.ravel(np.array(pictures[i % 64], dtype=jax_type)), i)), 64, collate_fn=collate)


jax_type = np.float32


@dataclasses.dataclass
class Datapoint:
    img_batch: torch.Tensor
    obj_to_frame_idx: torch.Tensor
    masks: torch.Tensor
    metadata: dict
    dict_key: str

    def __len__(self):
        return self.img_batch.shape[0]


@pipeline("dataclasses of video and masks", "facebookresearch/sam2")
def sam2(folder):
    def read(i):
        return torch.from_numpy(draw(i % 8, 4, 3, 128, 128)), torch.from_numpy(draw(i % 8, 4, 3, 128, 128)) > 0

    def collate(samples):
        frames = torch.stack([frames for frames, _ in samples], dim=0).permute((1, 0, 2, 3, 4))
        masks = torch.stack([masks for _, masks in samples], dim=1).flatten(1, 2)
        return Datapoint(frames, torch.zeros(4, 3, 2, dtype=torch.int), masks, {"unique_objects_identifier": torch.ones(4, 3, 3)}, "sa-v")

    return load(Items(480, read), 8, collate_fn=collate)


@pipeline("TensorDicts", "pytorch/tensordict")
def tensordicts(folder):
    from tensordict import TensorDict

    def read(i):
        return TensorDict({"observation": torch.from_numpy(draw(i % 16, 4, 84, 84)), "next": {"reward": torch.zeros(1), "done": torch.zeros(1, dtype=torch.bool)}}, batch_size=[])

    return load(Items(1024, read), 32, collate_fn=torch.stack)


@pipeline("pictures left to the processor", "huggingface/trl (vision)")
def pil_lists(folder):
    from PIL import Image

    paths = files(folder, ".jpg", 16, lambda number, path: Image.fromarray(np.random.default_rng(number).integers(0, 255, (30, 40, 3), dtype=np.uint8)).resize((400, 300)).save(path))
    return load(Items(256, lambda i: {"images": [Image.open(paths[i % 16]).convert("RGB")], "messages": [{"role": "user", "content": "what is it?"}]}), 8, collate_fn=as_is)


@pipeline("`datasets` with pictures", "huggingface/transformers (ViT)")
def hub_pictures(folder):
    import datasets
    from PIL import Image
    from torchvision import transforms as T

    paths = files(folder, ".jpg", 16, lambda number, path: Image.fromarray(np.random.default_rng(number).integers(0, 255, (30, 40, 3), dtype=np.uint8)).resize((400, 300)).save(path))
    steps = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])

    def transform(batch):
        return {"pixel_values": [steps(each.convert("RGB")) for each in batch["image"]], "label": batch["label"]}

    table = datasets.Dataset.from_dict({"image": paths * 24, "label": list(range(384))}).cast_column("image", datasets.Image())
    table.set_transform(transform)
    return load(table, 16, collate_fn=lambda samples: {"pixel_values": torch.stack([each["pixel_values"] for each in samples]), "labels": torch.tensor([each["label"] for each in samples])})


@pipeline("shared memory by the collate function", "huggingface/pytorch-image-models (fast_collate)")
def fast_collate(folder):
    pictures = (40 * np.abs(draw(1, 32, 3, 224, 224))).astype(np.uint8)

    def collate(samples):
        tensor = torch.zeros((len(samples), *samples[0][0].shape), dtype=torch.uint8)
        for k, (picture, _) in enumerate(samples):
            tensor[k] += torch.from_numpy(picture)
        return tensor, torch.tensor([label for _, label in samples], dtype=torch.int64)

    return load(Items(2048, lambda i: (pictures[i % 32], i)), 64, collate_fn=collate)


@pipeline("sparse and compressed", "")
def sparse(folder):
    def read(i):
        at = torch.randint(0, 5000, (2, 4000))
        return torch.sparse_coo_tensor(at, torch.ones(4000), (5000, 5000)).coalesce(), torch.from_numpy(draw(i % 8, 200, 200)).relu().to_sparse_csr()

    return load(Items(128, read), 4, collate_fn=as_is)


def build(title, folder):
    return PIPELINES[title][0](folder)
