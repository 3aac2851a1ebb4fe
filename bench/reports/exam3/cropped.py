"""A sample is put together from two hundred named columns of a table row (WorldCereal/presto-worldcereal#9)."""

from datetime import datetime

import numpy
import torch
from common import FIX, done, over
from stoker.emulated import Device
from torch.utils.data import DataLoader, Dataset

TIMES = 12
BANDS = ["B2", "B3", "B4", "B5", "B6", "B7", "B8", "B8A", "B11", "B12", "VH", "VV", "precipitation", "temperature"]
NODATA = 65535


class Row:
    """A row of mixed types, as a table gives one: values by name, each taken alone."""

    def __init__(self, columns, idx):
        self.values = {name: column[idx] for name, column in columns.items()}

    def __getitem__(self, names):
        if isinstance(names, str):
            return self.values[names]
        return numpy.array([self.values[name] for name in names], dtype=object)


class WorldCerealBase(Dataset):
    def __init__(self, count=4000):
        self.columns = {f"{band}-ts{t}": numpy.random.randint(1, 4000, count) for band in BANDS for t in range(TIMES)}
        self.columns |= {"lat": numpy.zeros(count), "lon": numpy.zeros(count), "alt": numpy.ones(count), "slo": numpy.ones(count)}
        self.columns["start_date"] = ["2020-11-01"] * count
        self.months = numpy.array([datetime.strptime(date, "%Y-%m-%d").month - 1 for date in self.columns["start_date"]])
        self.table = numpy.stack([self.columns[f"{band}-ts{t}"] for band in BANDS for t in range(TIMES)], 1).astype(numpy.float32)

    def __len__(self):
        return len(self.months)

    @staticmethod
    def row_to_arrays(row):
        month = datetime.strptime(row["start_date"], "%Y-%m-%d").month - 1
        eo_data = numpy.zeros((TIMES, len(BANDS) + 2))
        for band in BANDS:
            values = row[[f"{band}-ts{t}" for t in range(TIMES)]].astype(float)
            idx_valid = values != NODATA
            if band in ("VV", "VH"):
                values[idx_valid] = 20 * numpy.log10(values[idx_valid]) - 83
            elif band in ("precipitation", "temperature"):
                values[idx_valid] = values[idx_valid] / 100
            eo_data[:, BANDS.index(band)] = values
        for place, name in enumerate(("alt", "slo"), len(BANDS)):
            eo_data[:, place] = row[name]
        return eo_data.astype(numpy.float32), month

    def fast_row_to_arrays(self, idx):
        eo_data = numpy.ones((TIMES, len(BANDS) + 2), numpy.float32)
        eo_data[:, : len(BANDS)] = self.table[idx].reshape(len(BANDS), TIMES).T
        eo_data[:, 10:12] = 20 * numpy.log10(eo_data[:, 10:12]) - 83
        eo_data[:, 12:14] /= 100
        return eo_data, self.months[idx]

    def __getitem__(self, idx):
        eo, month = self.fast_row_to_arrays(idx) if FIX else self.row_to_arrays(Row(self.columns, idx))
        mask = numpy.random.random(eo.shape) < 0.75
        return torch.from_numpy(eo * ~mask), torch.from_numpy(eo * mask), month


def main():
    torch.set_num_threads(1)
    gpu, samples = Device(spin=False), 0
    loader = DataLoader(WorldCerealBase(), batch_size=256, shuffle=True, num_workers=2 if FIX else 0)
    while not over():
        for x, y, _ in loader:
            gpu.copy(x.nbytes + y.nbytes)
            gpu.launch(0.03, "encoder, decoder, backward")
            gpu.item()
            samples += len(x)
            if over():
                break
    done(gpu, samples)


if __name__ == "__main__":
    main()
