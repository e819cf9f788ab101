from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from autosync_lab.strategy import builder_names
from autosync_widgets.colours import MEANINGS, OWN, look_of
from autosync_widgets.marker import marker_svg
from tests.study.trial_factory import ALL_REDUCE
from tests.widgets.requests import FP16

Rgb = npt.NDArray[np.float64]

JUPYTERLAB_BACKGROUNDS = ("#ffffff", "#111111")

# Machado, Oliveira, Fernandes 2009, severity 1.0: what each form of colour blindness makes of linear RGB.
SIGHTS = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(colour: str) -> Rgb:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """WCAG contrast ratio."""
    dark, light = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: Rgb) -> Rgb:
    """CIELAB of linear sRGB."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("background", JUPYTERLAB_BACKGROUNDS)
def test_every_colour_stands_out_from_light_and_dark(background: str) -> None:
    assert all(contrast(colour, background) >= 3 for colour in MEANINGS.values())


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_stay_apart_in_colour_blindness(sight: str) -> None:
    seen = [lab(np.array(SIGHTS[sight]) @ linear(c)) for c in MEANINGS.values()]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


def test_every_builder_has_a_look_of_its_own() -> None:
    looks = {name: look_of(name) for name in builder_names() if name != "horovod-fp16"}
    assert len(set(looks.values())) == len(looks)
    assert OWN not in {look.colour for look in looks.values()}


def test_lossy_strategies_are_hollow() -> None:
    assert look_of("horovod", ALL_REDUCE).symbol == "diamond"
    assert look_of("horovod-fp16", FP16).symbol == "diamond-open"
    assert look_of("horovod-fp16", FP16).hollow() == look_of("horovod-fp16", FP16)
    assert look_of("mine", ALL_REDUCE).colour == OWN


def test_every_marker_can_be_drawn_beside_a_name() -> None:
    for name in builder_names():
        look = look_of(name)
        assert look.colour in marker_svg(look)
        assert 'fill="none"' in marker_svg(look.hollow())
