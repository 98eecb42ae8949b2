"""Networks that have the operators that those of networks.py have not. The list only grows."""
import numpy as np
from builder import Builder


def resnet3d18(batch):
    """R3D-18 of videos, 8 frames of 112x112."""
    b = Builder((batch, 3, 8, 112, 112))
    x = b.relu(b.convolution("x", 64, (3, 7, 7), (1, 2, 2)))
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = b.relu(b.convolution(x, 64 << stage, 3, stride))
            y = b.convolution(y, 64 << stage, 3, gain=0.3)
            skip = b.convolution(x, 64 << stage, 1, stride, gain=1.0) if stride > 1 else x
            x = b.relu(b.add(y, skip))
    return b, b.dense(b.average(x), 400)


def unet(batch, width=32):
    """Segmentation of 256x256; transposed convolutions of 2x2 lead back up."""
    b, skips = Builder((batch, 3, 256, 256)), []

    def two(x, channels):
        return b.relu(b.convolution(b.relu(b.convolution(x, channels, 3)), channels, 3))

    x = two("x", width)
    for level in range(1, 5):
        skips.append(x)
        x = two(b.max_pool(x, 2, 2, 0), width << level)
    for level in reversed(range(4)):
        x = two(b.concat(skips[level], b.transposed(x, width << level, 2, 2)), width << level)
    return b, b.convolution(x, 2, 1)


def dcgan(batch):
    """The generator of DCGAN: from 100 numbers to an image of 64x64."""
    b = Builder((batch, 100, 1, 1))
    x = b.relu(b.batch_norm(b.transposed("x", 512, 4, 1, gain=16.0)))
    for channels in (256, 128, 64):
        x = b.relu(b.batch_norm(b.transposed(x, channels, 4, 2, 1)))
    return b, b.unary("Tanh", b.transposed(x, 3, 4, 2, 1))


def shufflenet(batch, groups=3):
    """ShuffleNet 1x of three groups: 1x1 convolutions in groups, whose channels are shuffled."""
    b = Builder((batch, 3, 224, 224))

    def shuffle(x):
        n, c, h, w = shape = b.shape(x)
        x = b.transpose(b.reshape(x, (n, groups, c // groups, h, w)), (0, 2, 1, 3, 4))
        return b.reshape(x, shape)

    x = b.max_pool(b.relu(b.convolution("x", 24, 3, 2)), 3, 2, 1)
    for channels, blocks in ((240, 4), (480, 8), (960, 4)):
        for block in range(blocks):
            stride, inside = 1 if block else 2, channels // 4
            outputs = channels if block else channels - b.shape(x)[1]
            y = b.relu(b.convolution(x, inside, 1, groups=1 if b.shape(x)[1] == 24 else groups))
            y = b.convolution(shuffle(y), inside, 3, stride, groups=inside)
            y = b.convolution(y, outputs, 1, groups=groups, gain=0.5)
            x = b.relu(b.add(x, y) if block else b.concat(b.pool("AveragePool", x, 3, 2, 1), y))
    return b, b.dense(b.average(x), 1000)


def resnext50(batch):
    """ResNeXt-50 32x4d: 3x3 convolutions in 32 groups of 4, 8, 16 and 32 channels."""
    b = Builder((batch, 3, 224, 224))
    x = b.max_pool(b.relu(b.convolution("x", 64, 7, 2)), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride, width = 2 if stage and not block else 1, 128 << stage
            y = b.relu(b.convolution(x, width, 1))
            y = b.relu(b.convolution(y, width, 3, stride, groups=32))
            y = b.convolution(y, 2 * width, 1, gain=0.3)
            skip = x if block else b.convolution(x, 2 * width, 1, stride, gain=1.0)
            x = b.relu(b.add(y, skip))
    return b, b.dense(b.average(x), 1000)


def convnext(batch):
    """ConvNeXt-T: depthwise 7x7, normalization over channels and dense layers of channels-last values."""
    b = Builder((batch, 3, 224, 224))
    last, first = (0, 2, 3, 1), (0, 3, 1, 2)

    def normalize(x):
        return b.transpose(b.normalize(b.transpose(x, last)), first)

    x = normalize(b.convolution("x", 96, 4, 4, pad=0, gain=1.0))
    for stage, (width, blocks) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3))):
        if stage:
            x = b.convolution(normalize(x), width, 2, 2, pad=0, gain=1.0)
        for _ in range(blocks):
            y = b.normalize(b.transpose(b.convolution(x, width, 7, groups=width), last))
            y = b.gelu(b.linear(y, 4 * width, (1.0 / width) ** 0.5))
            y = b.linear(y, width, (1.0 / width) ** 0.5)
            x = b.add(x, b.transpose(b.node("Mul", (y, b.normal((width,), 0.3)), b.shape(y)), first))
    x = b.reshape(b.average(x), (batch, 1, width))
    return b, b.dense(b.reshape(b.normalize(x), (batch, width)), 1000)


def densenet121(batch, growth=32):
    """DenseNet-121: normalization before each convolution, so that it cannot be folded into one."""
    b = Builder((batch, 3, 224, 224))

    def normalized(x):
        return b.relu(b.batch_norm(x))

    x = b.max_pool(b.relu(b.convolution("x", 64, 7, 2)), 3, 2, 1)
    for stage, layers in enumerate((6, 12, 24, 16)):
        if stage:
            x = b.pool("AveragePool", b.convolution(normalized(x), b.shape(x)[1] // 2, 1), 2, 2)
        for _ in range(layers):
            y = normalized(b.convolution(normalized(x), 4 * growth, 1))
            x = b.concat(x, b.convolution(y, growth, 3, gain=1.0))
    return b, b.dense(b.average(normalized(x)), 1000)


def recurrent(b, op, x, hidden, gates, directions=1):
    """An LSTM or GRU over (steps, batch, values); the results of both directions side by side."""
    steps, batch, inputs = b.shape(x)
    weights = (b.normal((directions, gates * hidden, size), size ** -0.5) for size in (inputs, hidden))
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    y = b.node(op, (x, *weights, b.normal((directions, 2 * gates * hidden), 0.05)), (steps, directions, batch, hidden),
               hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward", **more)
    b.macs += steps * batch * directions * gates * hidden * (inputs + hidden)
    return b.reshape(b.transpose(y, (0, 2, 1, 3)), (steps, batch, directions * hidden))


def crnn(batch):
    """A recognizer of text lines, 32x280: convolutions, two bidirectional LSTMs, shares of 97 signs."""
    b, x = Builder((batch, 1, 32, 280)), "x"
    for channels, layers, window in ((64, 1, (2, 2)), (128, 1, (2, 2)), (256, 2, (2, 1)), (512, 2, (2, 1))):
        for _ in range(layers):
            x = b.relu(b.convolution(x, channels, 3))
        x = b.max_pool(x, window, window, 0)
    x = b.relu(b.convolution(x, 512, 2, pad=0))
    n, c, _, steps = b.shape(x)
    x = b.transpose(b.reshape(x, (n, c, steps)), (2, 0, 1))
    for _ in range(2):
        x = b.linear(recurrent(b, "LSTM", x, 256, 4, 2), 256, 0.06)
    x = b.linear(x, 97, 0.3)
    return b, b.unary("Softmax", x, axis=2)


def gru_denoiser(batch, frames=100, bins=257, hidden=256):
    """A mask of spectrogram frames from three GRUs."""
    b = Builder((frames, batch, bins))
    x = b.relu(b.linear("x", hidden, 0.06))
    for _ in range(3):
        x = recurrent(b, "GRU", x, hidden, 3)
    return b, b.node("Mul", ("x", b.unary("Sigmoid", b.linear(x, bins, 0.1))), b.shape("x"))


def spectrogram(batch, seconds=3, rate=16000, window=400, step=160, mels=80):
    """What speech recognizers begin with: a spectrogram of mels, then two convolutions along time."""
    samples, bins = seconds * rate, window // 2 + 1
    b = Builder((batch, samples))
    frames = (samples - window) // step + 1
    hann = b.constant(np.hanning(window))
    signal = b.reshape("x", (batch, samples, 1))
    x = b.node("STFT", (signal, b.model.integer(step), hann), (batch, frames, bins, 2), onesided=1)
    x = b.node("Mul", (x, x), b.shape(x))
    x = b.node("ReduceSum", (x, b.model.integers(-1)), (batch, frames, bins), keepdims=0)
    x = b.product(x, b.constant(np.abs(b.random.standard_normal((bins, mels)))))
    x = b.scalar("Max", x, 1e-10)
    x = b.transpose(b.unary("Log", x), (0, 2, 1))
    for stride in (1, 2):
        x = b.gelu(b.convolution(x, 256, 3, stride, gain=1.0))
    return b, x


def detector(batch, classes=20, kept=100):
    """An SSD on MobileNet at 320x320: boxes of three scales, TopK of scores, then NonMaxSuppression."""
    b = Builder((batch, 3, 320, 320))
    x, sources = b.relu6(b.convolution("x", 32, 3, 2)), []
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2),
                             (1024, 1), (512, 2)):
        before = b.shape(x)[1]
        if stride == 2 and before >= 512:
            sources.append(x)
        x = b.relu6(b.convolution(x, before, 3, stride, groups=before))
        x = b.relu6(b.convolution(x, channels, 1))

    def predictions(numbers):
        """(batch, boxes of all scales, numbers): six boxes at each place."""
        parts = []
        for source in (*sources, x):
            y = b.transpose(b.convolution(source, 6 * numbers, 3, gain=1.0), (0, 2, 3, 1))
            parts.append(b.reshape(y, (batch, int(np.prod(b.shape(y)[1:])) // numbers, numbers)))
        return b.concat(*parts)

    boxes, scores = predictions(4), b.unary("Sigmoid", predictions(classes))
    highest = b.node("ReduceMax", (scores,), b.shape(scores)[:2], axes=[2], keepdims=0)
    some = batch, 4 * kept
    _, places = b.nodes("TopK", (highest, b.model.integers(some[1])), (some, some), axis=1)
    places = b.reshape(places, (*some, 1))
    boxes = b.node("GatherND", (boxes, places), (*some, 4), batch_dims=1)
    scores = b.node("GatherND", (scores, places), (*some, classes), batch_dims=1)
    centre, extent = b.nodes("Split", (boxes, b.model.integers(2, 2)), ((*some, 2), (*some, 2)), axis=2)
    half = b.scalar("Mul", b.unary("Exp", b.scalar("Mul", extent, 0.2)), 0.5)
    low, high = (b.node(op, (centre, half), b.shape(half)) for op in ("Sub", "Add"))
    boxes = b.concat(low, high, axis=2)
    limits = b.model.integers(kept // classes), b.model.number(0.5), b.model.number(0.1)
    chosen = b.node("NonMaxSuppression", (boxes, b.transpose(scores, (0, 2, 1)), *limits), ("chosen", 3))
    image, _, box = b.nodes("Split", (chosen, b.model.integers(1, 1, 1)), [("chosen", 1)] * 3, axis=1)
    return b, b.node("GatherND", (boxes, b.concat(image, box)), ("chosen", 4))


OTHERS = (resnet3d18, unet, dcgan, shufflenet, resnext50, convnext, densenet121, crnn, gru_denoiser, spectrogram,
          detector)
