"""The training steps that are compared, each written once in the words of an engine (see worker_torch.py,
worker_xla.py). start.py has their initial weights and data.

An engine has the parameters by name and these operators: images are N x C x H x W, sequences N x T x C.

    conv(x, name, stride, pad)  batch_norm(x, name)  relu(x)  gelu(x)  add(x, y)  max_pool(x, window, pad)  mean_space(x)
    flatten(x)  linear(x, name)  layer_norm(x, name)  lstm(x, name)  last(x)  embed(ids, name)  place(x, name)
    attention(x, heads)         causal, of queries, keys and values side by side
"""
import dataclasses
import typing


@dataclasses.dataclass
class Step:
    network: typing.Callable  # (engine, x) -> logits
    image: tuple              # of one sample
    classes: int
    batch: int
    optimizer: str
    settings: dict
    compared: bool = True     # in compare, if no steps are named
    tokens: int = 0           # a sample is so many bytes of a text, and its labels those one further on


# ---- Networks ----------------------------------------------------------------------------------------


def digits(o, x):
    x = o.relu(o.conv(x, "conv1", 1, 1))
    x = o.max_pool(o.relu(o.conv(x, "conv2", 1, 1)))
    return o.linear(o.relu(o.linear(o.flatten(x), "fc1")), "fc2")


def lenet(o, x):
    x = o.max_pool(o.relu(o.conv(x, "conv1", 1, 2)))
    x = o.max_pool(o.relu(o.conv(x, "conv2", 1, 0)))
    x = o.relu(o.linear(o.flatten(x), "fc1"))
    return o.linear(o.relu(o.linear(x, "fc2")), "fc3")


def resnet18(o, x):
    x = o.relu(o.batch_norm(o.conv(x, "conv1", 1, 1), "bn1"))
    for name, width, before, stride in residual_blocks():
        y = o.relu(o.batch_norm(o.conv(x, name + ".conv1", stride, 1), name + ".bn1"))
        y = o.batch_norm(o.conv(y, name + ".conv2", 1, 1), name + ".bn2")
        if stride > 1 or width != before:
            x = o.batch_norm(o.conv(x, name + ".down", stride, 0), name + ".bn3")
        x = o.relu(o.add(x, y))
    return o.linear(o.mean_space(x), "fc")


def residual_blocks(counts=(2, 2, 2, 2), more=1):
    """(name, channels, channels before, stride); the last convolution of a block has `more` times its channels."""
    before = 64
    for stage, (width, count) in enumerate(zip((64, 128, 256, 512), counts)):
        for block in range(count):
            yield f"layer{stage + 1}.{block}", width, before, 2 if stage and not block else 1
            before = width * more


def resnet50_blocks():
    return residual_blocks((3, 4, 6, 3), 4)


def resnet50(o, x):
    x = o.max_pool(o.relu(o.batch_norm(o.conv(x, "conv1", 2, 3), "bn1")), 3, 1)
    for name, width, before, stride in resnet50_blocks():
        y = o.relu(o.batch_norm(o.conv(x, name + ".conv1", 1, 0), name + ".bn1"))
        y = o.relu(o.batch_norm(o.conv(y, name + ".conv2", stride, 1), name + ".bn2"))
        y = o.batch_norm(o.conv(y, name + ".conv3", 1, 0), name + ".bn3")
        if before != 4 * width:
            x = o.batch_norm(o.conv(x, name + ".down", stride, 0), name + ".bn4")
        x = o.relu(o.add(x, y))
    return o.linear(o.mean_space(x), "fc")


def lstm(o, x):
    return o.linear(o.last(o.lstm(o.lstm(x, "lstm1"), "lstm2")), "fc")


def gpt(o, x):
    x = o.place(o.embed(x, "token"), "place")
    for layer in range(4):
        name = f"block{layer}"
        y = o.attention(o.linear(o.layer_norm(x, name + ".norm1"), name + ".qkv"), 4)
        x = o.add(x, o.linear(y, name + ".project"))
        y = o.gelu(o.linear(o.layer_norm(x, name + ".norm2"), name + ".up"))
        x = o.add(x, o.linear(y, name + ".down"))
    return o.linear(o.layer_norm(x, "norm"), "head")


STEPS = {
    "digits": Step(digits, (1, 8, 8), 10, 32, "momentum", {"rate": 0.05, "momentum": 0.9}),
    "lenet": Step(lenet, (1, 28, 28), 10, 64, "sgd", {"rate": 0.05}),
    "resnet18": Step(resnet18, (3, 32, 32), 10, 32, "momentum", {"rate": 0.005, "momentum": 0.9}),
    "resnet50": Step(resnet50, (3, 224, 224), 1000, 8, "momentum", {"rate": 0.005, "momentum": 0.9}, compared=False),
    "lstm": Step(lstm, (64, 32), 10, 32, "adam", {"rate": 1e-3}),
    "gpt": Step(gpt, (64,), 256, 12, "adamw", {"rate": 1e-3, "decay": 0.1}, tokens=64),
}
