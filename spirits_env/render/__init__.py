"""Pictures as pixels: an SVG document becomes an RGB array.

The libraries that do it are heavy and optional, so they are imported when the first picture is asked for.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np


def svg_to_rgb(svg: str, width: int = 960) -> np.ndarray:
    """Rasterise an SVG document.

    Args:
        svg: The document.
        width: Width of the picture in pixels; the height follows from the document.

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
        return np.array(image.convert("RGB"))
