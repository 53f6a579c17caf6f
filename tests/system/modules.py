"""Modules for networks: right ones, honest mistakes, and what torch.vmap refuses or does not cover.

A class does to its input what its name says, whatever else is in the batch.
"""

import contextlib
import copy
import threading
import zlib

import numpy as np
import torch
from torch import nn

D = 6


class Module(nn.Module):
    """Ends in a linear map to two outputs."""

    kind = "mistake"

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(D, 2)

    def forward(self, x):
        return self.out(self.hidden(x))


# ---------------------------------------------------------------- right ones
class Right(Module):
    kind = "right"

    def __init__(self):
        super().__init__()
        self.inner = self.layers()

    def hidden(self, x):
        return self.inner(x)


class Perceptron(Right):
    def layers(self):
        return nn.Sequential(
            nn.Linear(D, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, D)
        )


class Normalised(Right):
    def layers(self):
        parts = nn.BatchNorm1d(D), nn.SiLU(), nn.LayerNorm(D), nn.Dropout(0.5), nn.Softmax(-1)
        return nn.Sequential(nn.Linear(D, D), *parts)


class Images(Right):
    def layers(self):
        before = nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        after = nn.ReLU(), nn.MaxPool2d((1, 2)), nn.InstanceNorm2d(4), nn.Flatten(), nn.Linear(8, D)
        return nn.Sequential(*before, *after)


class Series(Right):
    def layers(self):
        parts = nn.Conv1d(1, 4, 3), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool1d(3), nn.Flatten()
        return nn.Sequential(nn.Unflatten(1, (1, D)), *parts, nn.Linear(12, D))


class Transformer(Right):
    def layers(self):
        return nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)

    def hidden(self, x):
        return self.inner(x[..., None].expand(-1, -1, 4)).mean(2)


class Attention(Right):
    def layers(self):
        return nn.MultiheadAttention(4, 2, batch_first=True)

    def hidden(self, x):
        words = x[..., None].expand(-1, -1, 4)
        return self.inner(words, words, words)[0].mean(2)


class Embedding(Right):
    def layers(self):
        return nn.Embedding(10, 1)

    def hidden(self, x):
        return self.inner((3 * x.nan_to_num().abs()).clamp(0, 9).long()).squeeze(-1)


class EmbeddingBag(Embedding):
    kind = "refused"

    def layers(self):
        return nn.EmbeddingBag(10, D)

    def hidden(self, x):
        return self.inner((3 * x.nan_to_num().abs()).clamp(0, 9).long())


class Residual(Right):
    def layers(self):
        return nn.Linear(D, D)

    def hidden(self, x):
        h = x + torch.relu(self.inner(x))
        return h / (1e-6 + h.norm(dim=1, keepdim=True))


class Remembers(Right):
    """Uses the rows of the last call, of which there was none for a new copy."""

    last = None

    def layers(self):
        return nn.Identity()

    def hidden(self, x):
        last, self.last = self.last, x
        return x if last is None else x + last


# ---------------------------------------------------------------- honest mistakes
class MeanOfRows(Module):
    def hidden(self, x):
        return x - x.mean(0)


class SoftmaxOfRows(Module):
    def hidden(self, x):
        return x.softmax(0)


class SumOfRows(Module):
    def hidden(self, x):
        return x.cumsum(0)


class SortedRows(Module):
    def hidden(self, x):
        return x.sort(0)[0]


class RolledRows(Module):
    kind = "refused"

    def hidden(self, x):
        return x.roll(1, 0)


class LargestOfAll(Module):
    def hidden(self, x):
        return x / x.abs().max()


class ProductsOfRows(Module):
    def hidden(self, x):
        return x @ x.T @ x


class ScaledByAll(Module):
    """Quantises by the largest number of the batch."""

    kind = "refused"

    def hidden(self, x):
        scale = x.abs().max() / 127
        zero = torch.zeros((), dtype=torch.int32)
        return torch.fake_quantize_per_tensor_affine(x, scale, zero, -127, 127)


class AttentionToRows(Attention):
    kind = "mistake"

    def layers(self):
        return nn.MultiheadAttention(4, 2)  # batch_first=False


class HookOnAll(Module):
    def __init__(self):
        super().__init__()
        self.out.register_forward_hook(subtract_mean)

    def hidden(self, x):
        return x


def subtract_mean(module, inputs, output):
    return output - output.mean(0, keepdim=True)


class HookBefore(Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(divide_by_norm)

    def hidden(self, x):
        return x


def divide_by_norm(module, inputs):
    return (inputs[0] / inputs[0].norm(dim=0),)


class RunningMean(Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, D))

    def hidden(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


class MemoryBank(RunningMean):
    def hidden(self, x):
        self.mean = torch.cat([self.mean, x])
        return x - self.mean.mean(0)


class WritesIntoItsInput(Module):
    kind = "refused"

    def hidden(self, x):
        x -= x.mean(0)
        x[0] = 3 * x[0]
        return x


class Centred(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x - x.mean(0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class OwnFunction(Module):
    kind = "refused"

    def hidden(self, x):
        return Centred.apply(x)


@torch.library.custom_op("sklearn_dpbo_tests::centred", mutates_args=())
def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(0)


class OwnOperator(Module):
    kind = "refused"

    def hidden(self, x):
        return centred(x)


@torch.jit.script
def scripted(x):
    return x - x.mean(0)


class TorchScript(Module):
    def hidden(self, x):
        return scripted(x)


class VmapWithin(Module):
    def hidden(self, x):
        return torch.vmap(lambda row: row - x.mean(0))(x)


# ---------------------------------------------------------------- refused
class Refused(Module):
    kind = "refused"


class BranchesOnData(Refused):
    def hidden(self, x):
        return x if x.sum() > 0 else -x


class TakesNumbers(Refused):
    def hidden(self, x):
        return x * x.mean().item()


class TakesLists(Refused):
    def hidden(self, x):
        return x * sum(map(sum, x.tolist()))


class ToNumpy(Refused):
    def hidden(self, x):
        return x * float(np.asarray(x).mean())


class SelectsSome(Refused):
    def hidden(self, x):
        return x * x[x > 0].mean()


class CountsSome(Refused):
    def hidden(self, x):
        return x * (x > 2).nonzero().shape[0]


class Draws(Refused):
    def hidden(self, x):
        return x + torch.rand_like(x)


class DropsInTraining(Refused):
    def hidden(self, x):
        return nn.functional.dropout(x, 0.5)


class StatisticsInTraining(Refused):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(D, track_running_stats=False)

    def hidden(self, x):
        return self.norm(x)


class WritesIntoABuffer(Refused):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, D))

    def hidden(self, x):
        self.mean.mul_(0.9).add_(0.1 * x.mean(0))
        return x - self.mean


class WritesItsData(Refused):
    def hidden(self, x):
        x.data[0] = 0
        return x


class ReadsMemory(Refused):
    def hidden(self, x):
        return x + torch.empty(0).set_(x.untyped_storage()).mean()


class CopiesDeeply(Refused):
    def hidden(self, x):
        return x - copy.deepcopy(x).mean(0)


class PassesToAThread(Refused):
    def hidden(self, x):
        results = []
        thread = threading.Thread(target=lambda: results.append(x.mean(0)))
        thread.start()
        thread.join()
        return x - results[0]


class OldFunction(Refused):
    class Centred(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x - x.mean(0)

    def hidden(self, x):
        return self.Centred.apply(x)


class Recurrent(Refused):
    layer = nn.LSTM

    def __init__(self):
        super().__init__()
        self.inner = self.layer(1, D, batch_first=True)

    def hidden(self, x):
        return self.inner(x[..., None])[0][:, -1]


class Gated(Recurrent):
    layer = nn.GRU


# ---------------------------------------------------------------- refused if a row raises an error
class Catches(Module):
    kind = "catches"


class TriesLargerNoise(Catches):
    """Goes on with another matrix if that of any row has no root."""

    kind = "refused"

    def hidden(self, x):
        matrix = (9 - x[:, 0].abs())[:, None, None] * torch.eye(D)
        try:
            root = torch.linalg.cholesky(matrix)
        except RuntimeError:
            root = torch.linalg.cholesky(matrix + 99 * torch.eye(D))
        return (root @ x[:, :, None]).squeeze(-1)


class TriesALookup(Catches):
    """Limits positions if that of any row is beyond the end."""

    def hidden(self, x):
        table, place = torch.arange(9.0), x[:, :1].abs().long()
        with contextlib.suppress(IndexError):
            return x + table[place]
        return x - table[place.clamp(0, 8)]


# ---------------------------------------------------------------- not covered
class NotCovered(Module):
    kind = "not covered"


class OwnRule(NotCovered):
    """Maps over rows by a rule of its own, which gets all of them."""

    kind = "refused"

    class Centred(Centred):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            return x - x.mean(0), in_dims[0]

    def hidden(self, x):
        return self.Centred.apply(x)


LAST = []


class KeepsInAGlobal(NotCovered):
    def hidden(self, x):
        LAST.append(x)
        return x + LAST[-2] if len(LAST) > 1 else x


class ReadsText(NotCovered):
    kind = "refused"

    def hidden(self, x):
        return x * (zlib.crc32(str(x).encode()) % 1009 / 1009)


KINDS = {
    kind: {
        name: value
        for name, value in list(globals().items())
        if isinstance(value, type) and issubclass(value, Module) and value.kind == kind
        and value not in (Module, Right, Refused, Catches, NotCovered)
    }
    for kind in ("right", "mistake", "refused", "catches", "not covered")
}  # fmt: skip
