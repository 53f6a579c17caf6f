"""What networks are made of: together they use each operation of torch that is allowed, and no other.

Each is called on a batch of one row, of the shape that it is listed under.
"""

# ruff: noqa: E501
import torch
from torch import nn
from torch.nn import functional as F

W = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
FIRST = torch.tensor([[0, 1]])
ACTIVATIONS = """
    ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid PReLU ReLU ReLU6 SELU CELU
    GELU Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink AlphaDropout Dropout
    FeatureAlphaDropout
"""


class Attention(nn.Module):
    """Of a row to itself."""

    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, t):
        return self.inner(t, t, t)[0]


ROWS = {
    **{name: getattr(nn, name)() for name in ACTIVATIONS.split()},
    **{name: getattr(nn, name)(-1) for name in ("Softmin", "Softmax", "LogSoftmax", "GLU")},
    "Threshold": nn.Threshold(0.1, 0.0),
    "Unflatten": nn.Sequential(nn.Unflatten(1, (2, 4)), nn.Flatten()),
    "arithmetic": lambda t: (
        (t + 1 - t * 2 / 3) ** 2 + (1 - t) + 2 / (t.abs() + 1) + (-t) + 2.0**t + t // 2 + t % 2
    ),
    "comparisons": lambda t: torch.where(
        (t > 0) & (t < 1) | (t >= 2) | (t <= -2) | ~(t != 0) | (t == 1), t, torch.zeros_like(t)
    ),
    "functions": lambda t: (
        torch.exp(t)
        .log()
        .sqrt()
        .sin()
        .cos()
        .tan()
        .tanh()
        .sigmoid()
        .abs()
        .clamp(0, 1)
        .clamp_min(0)
        .clamp_max(1)
        .square()
        .reciprocal()
        .neg()
        .sign()
        .floor()
        .ceil()
        .round()
        .trunc()
        .frac()
        .erf()
        .log1p()
        .expm1()
        .rsqrt()
        .relu()
        .pow(2)
    ),
    "reductions": lambda t: torch.stack(
        [
            t.sum(-1),
            t.mean(-1),
            t.amax(-1),
            t.amin(-1),
            t.max(-1).values,
            t.min(-1)[0],
            t.std(-1),
            t.var(-1),
            t.prod(-1),
            t.norm(dim=-1),
            t.logsumexp(-1),
            t.argmax(-1),
            t.median(-1).values,
            t.any(-1),
            t.all(-1),
            torch.linalg.vector_norm(t, dim=-1),
        ],
        -1,
    ),
    "reductions of all": lambda t: (t.mean(0) + t.sum() + torch.mean(t) + t.max())[None],
    "shapes": lambda t: (
        t.reshape(1, 2, 4)
        .permute(0, 2, 1)
        .transpose(1, 2)
        .contiguous()
        .view(1, 8)
        .flatten(1)
        .unsqueeze(-1)
        .squeeze(-1)
        .expand(2, 8)
        .repeat(2, 1)
        .unbind(0)[0]
        .chunk(2)[0]
        .split(2)[0]
        .narrow(0, 0, 1)[None]
    ),
    "parts": lambda t: torch.stack([torch.cat([t, t], -1)[:, :3], t[:, 1:4], t[..., -3:]], 1),
    "products": lambda t: (
        t @ W
        + torch.mm(t, W)
        + F.linear(t, W)
        + torch.einsum("bi,ij->bj", t, W)
        + torch.bmm(t[None], W[None])[0]
        + torch.addmm(t, t, W)
    ),
    "products of rows": lambda t: torch.einsum("bi,bj->bij", t, t) + torch.outer(t[0], t[0]),
    "new tensors": lambda t: (
        torch.zeros(8)
        + torch.ones(8)
        + torch.arange(8)
        + torch.ones_like(t)
        + t.new_zeros(8)
        + torch.full((8,), 2.0)
        + torch.tensor(1.0)
        + torch.linspace(0, 1, 8)
        + torch.full_like(t, 1.0)
        + torch.eye(8)[0]
        + t
    ),
    "sizes": lambda t: (
        t * t.shape[0] * t.size(-1) * t.dim() * len(t) * t.ndim * t.numel() * t.is_floating_point()
    ),
    "types": lambda t: (
        t.to(torch.float64)
        .float()
        .double()
        .half()
        .bfloat16()
        .type(torch.float32)
        .type_as(t)
        .nan_to_num(0, 9, -9)
        .clamp(-9, 9)
        .long()
        .float()
        .int()
        .bool()
        .float()
    ),
    "orders": lambda t: (
        torch.sort(t, -1).values
        + torch.topk(t, 8, -1).values
        + t.cumsum(-1)
        + t.flip(-1)
        + t.argsort(-1)
        + torch.cumprod(t, -1)
    ),
    "triangles": lambda t: t @ torch.tril(W) + torch.tril(t),
    "normalised": lambda t: (
        F.normalize(t, dim=-1)
        + F.layer_norm(t, (8,))
        + F.dropout(t, training=False)
        + F.pad(t, (1, 1))[:, :8]
        + F.cosine_similarity(t[None], t[None], dim=-1)
    ),
    "places": lambda t: (
        t.gather(-1, FIRST)
        + t.index_select(-1, FIRST[0])
        + torch.take_along_dim(t, FIRST, -1)
        + t[:, FIRST[0]]
    ),
    "places of the row": lambda t: (
        t.gather(-1, t.argsort(-1))
        + torch.take_along_dim(t, t.argsort(-1), -1)
        + W[0][t.argsort(-1)]
    ),
    "masks": lambda t: (
        t.masked_fill(t > 0, 0.0)
        + torch.maximum(t, -t)
        + torch.minimum(t, -t)
        + torch.nan_to_num(t)
        + torch.isnan(t)
        + torch.isinf(t)
        + t.isfinite()
        + torch.lerp(t, -t, 0.5)
        + torch.atan2(t, t)
    ),
    "in place": lambda t: (
        t.clone().add_(1).mul_(2).relu_().div_(2).sub_(1) + t.clone().fill_(0).zero_().copy_(t)
    ),
    "attention": lambda t: F.scaled_dot_product_attention(t[None], t[None], t[None])[0],
    "codes": lambda t: F.embedding(t.nan_to_num(0, 7, 0).clamp(0, 7).long(), W),
    "detached": lambda t: t.detach().clone(),
}
SERIES = {
    "Conv1d": nn.Conv1d(4, 4, 3, padding=1, groups=2), "ConvTranspose1d": nn.ConvTranspose1d(4, 4, 3),
    "circular": nn.Conv1d(4, 4, 3, padding=1, padding_mode="circular"),
    "MaxPool1d": nn.MaxPool1d(2), "AvgPool1d": nn.AvgPool1d(2), "LPPool1d": nn.LPPool1d(2, 2),
    "AdaptiveMaxPool1d": nn.AdaptiveMaxPool1d(2), "AdaptiveAvgPool1d": nn.AdaptiveAvgPool1d(2),
    "GroupNorm": nn.GroupNorm(2, 4), "LayerNorm": nn.LayerNorm(8), "RMSNorm": nn.RMSNorm(8),
    "InstanceNorm1d": nn.InstanceNorm1d(4), "BatchNorm1d": nn.BatchNorm1d(4),
    "LocalResponseNorm": nn.LocalResponseNorm(2), "MultiheadAttention": Attention(),
    "TransformerEncoderLayer": nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    "ChannelShuffle": nn.ChannelShuffle(2), "ReflectionPad1d": nn.ReflectionPad1d(1),
    "ReplicationPad1d": nn.ReplicationPad1d(1), "Upsample": nn.Upsample(scale_factor=2),
    "windows": lambda t: t.unfold(2, 3, 1),
}  # fmt: skip
IMAGES = {
    "Conv2d": nn.Conv2d(3, 4, 3), "MaxPool2d": nn.MaxPool2d(2), "AvgPool2d": nn.AvgPool2d(2),
    "AdaptiveAvgPool2d": nn.AdaptiveAvgPool2d(1), "AdaptiveMaxPool2d": nn.AdaptiveMaxPool2d(2),
    "BatchNorm2d": nn.BatchNorm2d(3), "ConvTranspose2d": nn.ConvTranspose2d(3, 4, 3),
    "Upsample": nn.Upsample(scale_factor=2, mode="bilinear"), "ZeroPad2d": nn.ZeroPad2d(1),
    "PixelUnshuffle": nn.PixelUnshuffle(2),
}  # fmt: skip
SHAPES = {(8,): ROWS, (4, 8): SERIES, (3, 8, 8): IMAGES}
