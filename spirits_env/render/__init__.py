"""Pictures as pixels: an SVG document becomes an RGB array.

The libraries that do it are heavy and optional, so they are imported when the first picture is asked for.
"""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np

_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')


def svg_size(svg: str) -> tuple[float, float]:
    """Return the width and the height of a game's SVG document.

    Raises:
        ValueError: If it tells none.
    """
    size = _SIZE.search(svg)
    if size is None:
        raise ValueError('The picture tells no size; its first element needs a viewBox="0 0 WIDTH HEIGHT".')
    return float(size[1]), float(size[2])


def svg_to_rgb(svg: str, width: int = 960) -> np.ndarray:
    """Rasterise an SVG document.

    Args:
        svg: The document.
        width: Width of the picture in pixels; the height follows from the document, and is made even, because most
            formats of videos want that.

    Returns:
        A writable array of shape `(height, width, 3)`, uint8.

    Raises:
        ImportError: If the libraries of the `render` extra are missing.
    """
    try:
        from PIL import Image
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise ImportError('Pictures need two more libraries: pip install "spirits-env[render]".') from error
    # The games draw their letters as paths: looking for fonts would only cost time.
    png = svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True)
    with Image.open(BytesIO(png)) as image:
        pixels = np.array(image.convert("RGB"))
    return np.concatenate([pixels, pixels[-1:]]) if len(pixels) % 2 else pixels
