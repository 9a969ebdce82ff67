#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/test_models.c expects of each model: make_model_values.py > tests/data/models.tsv

One line a model: name, scalars in parameters, tensors in the state dict, and the 64-bit FNV-1a hash of the lines
"name shape\n" of the state dict in its order, where shape is "(64,3,7,7)".
"""
import torch
import torchaudio
import torchvision

TORCHVISION = """resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d wide_resnet50_2
wide_resnet101_2""".split()

# Name in models/models.def: the PyTorch module that its defaults must equal. A model that torchvision has not is written
# out above in torch.nn and gets a line here.
MODELS = {name: lambda name=name: getattr(torchvision.models, name)(weights=None, num_classes=1000) for name in TORCHVISION}
MODELS["resnet"] = MODELS["resnet18"]
MODELS["wav2letter"] = torchaudio.models.Wav2Letter
MODELS["conv_tasnet"] = torchaudio.models.ConvTasNet
MODELS["conv_tasnet_base"] = torchaudio.models.conv_tasnet_base
MODELS["wavernn"] = lambda: torchaudio.models.WaveRNN(upsample_scales=[5, 5, 8], n_classes=256, hop_length=200)


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def main():
    for name, build in MODELS.items():
        with torch.device("meta"):
            model = build()
        state = model.state_dict()
        lines = "".join(f"{key} ({','.join(map(str, value.shape))})\n" for key, value in state.items())
        count = sum(p.numel() for p in model.parameters())
        print(f"{name}\t{count}\t{len(state)}\t{fnv(lines):016x}")


main()
