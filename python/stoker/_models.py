"""The two models of the data path that need no run, computed by the binary.

Quantities are texts with a unit ("500 KB", "2 GB/s", "11.74 ms"), plain numbers in base units
(bytes, bytes per second, seconds; NumPy's too), or quantities of pint. Answers are in base units;
unknown is None. A wrong argument raises StokerError with the binary's sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._verbs import ask, in_units


@dataclass(frozen=True)
class Transformation:
    """Does the CPU prepare batches as fast as the accelerator takes them?"""

    transform_time: float  # seconds in which the CPU prepares one batch
    accelerator_step_time: float  # seconds, as given
    step_time: float  # seconds of both overlapped: the longer one
    is_bottleneck: bool  # the CPU takes longer
    accelerator_utilization: float  # 0 to 1
    slowdown_factor: float  # 1 or more


@dataclass(frozen=True)
class DataSupply:
    """Do storage and the host link deliver what the accelerator asks for?"""

    demand: float  # bytes/s
    supply: float | None  # bytes/s, None without storage
    at_most: float | None  # bytes/s that supply cannot exceed
    utilization: float | None  # demand over supply, above 1 if the supply is too small
    margin: float | None  # bytes/s, negative if the supply is too small
    is_stalled: bool | None
    bound: str | None  # "storage" or "link"

    @property
    def demand_bw(self) -> float:
        """demand, by the tutorial's name."""
        return self.demand

    @property
    def supply_bw(self) -> float | None:
        """supply, by the tutorial's name."""
        return self.supply

    @property
    def bottleneck(self) -> str | None:
        """bound, by the tutorial's name."""
        return self.bound


class TransformationModel:
    """The tutorial's model of preparation on the CPU."""

    def solve(
        self,
        batch_size: int,
        sample_size: str | float | None = None,
        cpu_throughput: str | float | None = None,
        accelerator_step_time: str | float | None = None,
        *,
        sample_size_bytes: str | float | None = None,
    ) -> Transformation:
        """Compare the preparation of a batch with the accelerator's step.

        cpu_throughput is the rate of all workers together, in stored bytes. sample_size_bytes is
        the tutorial's name of sample_size.
        """
        sample = _one_of("sample_size", sample_size, "sample_size_bytes", sample_size_bytes)
        answer = ask(
            "predict",
            "transformation",
            "--json",
            "--batch=" + _text("batch_size", batch_size, ""),
            "--sample=" + _text("sample_size", sample, "B"),
            "--cpu=" + _text("cpu_throughput", cpu_throughput, "B/s"),
            "--step=" + _text("accelerator_step_time", accelerator_step_time, "s"),
        )
        return Transformation(
            transform_time=answer["transform_time_s"],
            accelerator_step_time=answer["accelerator_step_time_s"],
            step_time=answer["step_time_s"],
            is_bottleneck=answer["is_bottleneck"],
            accelerator_utilization=answer["accelerator_utilization"],
            slowdown_factor=answer["slowdown_factor"],
        )


class DataModel:
    """The tutorial's model of storage and host link."""

    def solve(
        self,
        demand: str | float | None = None,
        gpu: str | None = None,
        storage: str | float | None = None,
        *,
        workload_data_rate: str | float | None = None,
    ) -> DataSupply:
        """Compare a demand of stored bytes with what the hardware delivers.

        gpu names the device with the host link ("a100-80gb-sxm"), storage a class ("nvme") or a
        rate. Without storage the supply is unknown. workload_data_rate is the tutorial's name of
        demand.
        """
        rate = _one_of("demand", demand, "workload_data_rate", workload_data_rate)
        arguments = ["predict", "data", "--json", "--demand=" + _text("demand", rate, "B/s")]
        if gpu is not None:
            arguments.append("--gpu=" + gpu)
        if storage is not None:
            arguments.append("--storage=" + _text("storage", storage, "B/s"))
        answer = ask(*arguments)
        return DataSupply(
            demand=answer["demand_bytes_per_s"],
            supply=answer["supply_bytes_per_s"],
            at_most=answer["at_most_bytes_per_s"],
            utilization=answer["utilization"],
            margin=answer["margin_bytes_per_s"],
            is_stalled=answer["is_stalled"],
            bound=answer["bound"],
        )


def _one_of(name, value, other_name, other):
    if value is not None and other is not None:
        raise TypeError(f"{name} and {other_name} are the same: give one")
    return other if value is None else value


def _text(name: str, quantity: str | float | None, unit: str) -> str:
    """Return a quantity as the command line takes it; a missing one is empty, and the binary
    refuses it."""
    return "" if quantity is None else in_units(name, quantity, unit)
