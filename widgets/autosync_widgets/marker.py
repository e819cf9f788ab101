"""A strategy's marker as a small drawing, the same shape that plotly draws."""

from autosync_widgets.colours import Look

_SHAPES = {
    "circle": '<circle cx="8" cy="8" r="5.5"/>',
    "square": '<rect x="3" y="3" width="10" height="10"/>',
    "triangle-up": '<path d="M8 2.5 14 13H2z"/>',
    "triangle-down": '<path d="M8 13.5 14 3H2z"/>',
    "diamond": '<path d="M8 1.5 14 8 8 14.5 2 8z"/>',
    "star": '<path d="M8 1l1.9 4.6 5 .4-3.8 3.2 1.2 4.8L8 11.4 3.7 14l1.2-4.8L1.1 6l5-.4z"/>',
}


def marker_svg(look: Look) -> str:
    """The marker as inline SVG, 14 pixels wide; hidden from screen readers, as the name stands beside it."""
    hollow = look.symbol.endswith("-open")
    fill = "none" if hollow else look.colour
    return (
        f'<svg class="autosync-marker" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" '
        f'fill="{fill}" stroke="{look.colour}" stroke-width="{2 if hollow else 1}">'
        f"{_SHAPES[look.symbol.removesuffix('-open')]}</svg>"
    )
