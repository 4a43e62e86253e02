# SPDX-License-Identifier: Apache-2.0
"""What image/build and image/python have in common: options, and how an error looks."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from . import release, sources
from .apt import Apt
from .assemble import Order, cache_dir
from .progress import BuildError


def say(text: str) -> None:
    print(f"image: {text}", file=sys.stderr, flush=True)


def add_release(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"{one.name} (Python {one.python})" for one in release.RELEASES)
    parser.add_argument(
        "--release",
        default="",
        metavar="NAME",
        help=f"Debian release, or its Python: {names}; "
        f"default: {release.VARIABLE}, or {release.DEFAULT}",
    )
    parser.add_argument(
        "--mirror",
        default="",
        metavar="URL",
        help=f"that has it; default: {sources.MIRROR_VARIABLE}, or the host's own Debian mirror",
    )
    parser.add_argument(
        "--keyring",
        default="",
        metavar="FILE",
        help=f"keys of the release; default: {sources.KEYRING_VARIABLE}, "
        "or those of debian-archive-keyring",
    )


def order(arguments: argparse.Namespace, image_dir: Path, update: bool) -> Order:
    chosen = release.find(arguments.release)
    target = release.target(chosen)
    apt = Apt(
        cache_dir() / f"apt-{chosen.name}",
        chosen.name,
        lambda: sources.write(
            sources.find_mirror(arguments.mirror),
            sources.find_keyring(arguments.keyring),
            chosen.name,
        ),
    )
    return Order(image_dir, chosen, target, apt, update)


def run(work: Callable[[], int]) -> int:
    try:
        return work()
    except BuildError as error:
        say(f"error: {error}")
        if error.remedy:
            say(f"remedy: {error.remedy}")
        return 1
    except OSError as error:
        say(f"error: {error}")
        say("remedy: see that the place can be written to and the disk is not full")
        return 1
    except KeyboardInterrupt:
        say("interrupted; nothing was changed")
        return 130
